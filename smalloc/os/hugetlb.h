// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hugetlb.h decides that the pools of 2 MiB and 1 GiB pages are reached through libhugetlbfs (loaded
// only when pages:hugetlb or pages:1g asks for it), how a refusal is told from success before any
// program's store can hit it, and what a fork does to such memory.
#ifndef SMALLOC_OS_HUGETLB_H
#define SMALLOC_OS_HUGETLB_H

#include <stddef.h>

namespace smalloc {

/// As OsHooks::open_hugetlb, map_hugetlb and unmap_hugetlb.
int open_hugetlb(size_t page_bytes);
int map_hugetlb(void *start, size_t bytes, size_t page_bytes);
int unmap_hugetlb(void *start, size_t bytes);

/// Hands a forked child its copy of pool memory. Used for each run of pool pages, in the same order
/// on both sides, and only while there are some.
class ForkGate {
public:
  /// In the parent before fork. False: no descriptors; the child will share pages and copy on write.
  bool prepare();
  /// In the parent after fork. False: the child is gone.
  bool send(const char *start, size_t bytes);
  /// In the child: ordinary memory in place of what it inherited, with the parent's contents. False:
  /// the parent is gone, or there is no memory. Nobody touches the run between fork and this.
  bool receive(char *start, size_t bytes);
  /// First of all after fork, on its side: closes the other's end, so that its death is seen.
  void enter_parent() { close_end(1); }
  void enter_child() { close_end(0); }
  void close_both();

private:
  void close_end(unsigned index);
  int ends_[2] = {-1, -1}; ///< parent's, child's
};

} // namespace smalloc
#endif
