// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kept_file.h keeps a file of libsmalloc open in a program that does not know of it. The descriptor
// has a high number, because shells and daemons move and close low ones. Each use first checks that
// the descriptor still refers to the file: a program that closes all descriptors may get the number
// again for its own file. In that case KeptFile opens its file again by name.
#ifndef SMALLOC_FILES_KEPT_FILE_H
#define SMALLOC_FILES_KEPT_FILE_H

#include <atomic>
#include <sys/types.h>

namespace smalloc {

class KeptFile {
public:
  /// Takes over `fd`, which is open for appending.
  void keep(int fd);
  /// Returns a descriptor to write to. Returns -1 if the program has closed the file and it cannot
  /// be opened again. Any thread may call it. Another thread of the program may still close the
  /// descriptor before the caller's write.
  int descriptor();
  /// Closes the file if the program has not closed it. One thread only; it may be the only thread
  /// of a child of fork.
  void close();

private:
  /// True if `fd` still refers to the kept file.
  bool is_ours(int fd) const;

  std::atomic<int> fd_{-1};
  std::atomic<bool> reopening_{false};
  dev_t device_ = 0;
  ino_t inode_ = 0;
  char path_[4096] = {}; ///< absolute; empty if unknown
};

} // namespace smalloc
#endif
