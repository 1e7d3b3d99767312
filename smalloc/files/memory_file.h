// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory_file.h makes memory of libsmalloc readable for another process. It replaces the memory, at
// the same address, by a mapping of an unnamed memory file. No file system shows a name for it.
#ifndef SMALLOC_FILES_MEMORY_FILE_H
#define SMALLOC_FILES_MEMORY_FILE_H

#include <stddef.h>

namespace smalloc {

struct MemoryPiece {
  size_t offset, bytes;
};

/// Replaces [start, start + bytes) by shared memory that holds copies of `pieces` and zeros
/// elsewhere. The range consists of whole pages. Only the same user may open the file (mode 0600).
/// The descriptor closes on exec and has a high number, because programs count on low ones. Returns
/// the descriptor; negative on failure, when nothing has changed. Keeps errno. REQUIRES: no other
/// thread writes to the range meanwhile.
int replace_by_memory_file(const char *name, void *start, size_t bytes, const MemoryPiece *pieces,
                           size_t count);

/// Reserves address space for replace_by_private_memory() in advance: the kernel may refuse every
/// new mapping to a child of fork. Uses no memory. Returns nullptr if the kernel refuses.
void *spare_private_memory(size_t bytes);

/// Replaces the range by private memory with copies of `pieces`, so that a child of fork no longer
/// shares it. `spare` is the result of spare_private_memory() for the same `bytes`, or nullptr. The
/// call uses `spare` only if it cannot map other memory. Returns false if the range is still
/// shared.
bool replace_by_private_memory(void *start, size_t bytes, const MemoryPiece *pieces, size_t count,
                               void *spare);

/// Closes `fd` if it still refers to a memory file called `name`: the program may have closed it
/// and got the number for another file. Keeps errno.
void close_memory_file(int fd, const char *name);

} // namespace smalloc
#endif
