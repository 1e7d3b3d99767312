// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kept_file.h decides how a file of ours stays open in a program that does not know of it: under a high number, since low ones are
// moved and closed by shells and daemons, and looked at before each use, since a program that closes all descriptors gets the
// number again for a file of its own. Then ours is opened anew by its name.
#ifndef SMALLOC_FILES_KEPT_FILE_H
#define SMALLOC_FILES_KEPT_FILE_H

#include <atomic>
#include <sys/types.h>

namespace smalloc {

class KeptFile {
public:
  /// Takes the descriptor over, opened for appending.
  void keep(int fd);
  /// To write to; -1 when the program has closed the file and it cannot be opened any more. Any thread. Between this and the write
  /// another thread of the program may still close it: one system call's time.
  int descriptor();
  /// Closes the file, unless the program has. For one thread, which may be the only one left in a child of fork.
  void close();

private:
  bool is_ours(int fd) const;

  std::atomic<int> fd_{-1};
  std::atomic<bool> reopening_{false};
  dev_t device_ = 0;
  ino_t inode_ = 0;
  char path_[4096] = {}; ///< absolute; empty when nobody knows it
};

} // namespace smalloc
#endif
