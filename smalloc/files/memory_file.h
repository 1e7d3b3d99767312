// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory_file.h decides how memory of ours becomes readable for another process without a name in
// any file system: an unnamed memory file takes its place, at the same address.
#ifndef SMALLOC_FILES_MEMORY_FILE_H
#define SMALLOC_FILES_MEMORY_FILE_H

#include <stddef.h>

namespace smalloc {

struct MemoryPiece {
  size_t offset, bytes;
};

/// Replaces [start, start + bytes), whole pages, by shared memory that holds copies of `pieces` and
/// zeroes elsewhere. Only this user may open the file (mode 0600); it is closed on exec, and its
/// number is out of the way of programs that count on small ones. Returns the descriptor; negative:
/// not to be had, and nothing has changed. Keeps errno. REQUIRES: nobody else writes meanwhile.
int replace_by_memory_file(const char *name, void *start, size_t bytes, const MemoryPiece *pieces,
                           size_t count);

/// Address space for replace_by_private_memory, taken while there is some: a child of fork may be refused
/// every new mapping. Takes no memory. nullptr: not to be had.
void *spare_private_memory(size_t bytes);

/// The same with private memory: what a fork left shared is shared no longer. spare: as many bytes from
/// spare_private_memory, used up if nothing else is to be had; may be nullptr. False: it still is shared.
bool replace_by_private_memory(void *start, size_t bytes, const MemoryPiece *pieces, size_t count,
                               void *spare);

/// Closes fd if it still is a memory file of that name (a program may have closed it and got the
/// number again). Keeps errno.
void close_memory_file(int fd, const char *name);

} // namespace smalloc
#endif
