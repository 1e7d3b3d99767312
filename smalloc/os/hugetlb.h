// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hugetlb.h serves pools of 2 MiB and 1 GiB pages through libhugetlbfs, which it loads only for
// pages:hugetlb or pages:1g. It detects a refusal before any store of the program can hit it.
// ForkGate gives a child of fork its own copy of pool memory.
#ifndef SMALLOC_OS_HUGETLB_H
#define SMALLOC_OS_HUGETLB_H

#include <stddef.h>

namespace smalloc {

/// Implement OsHooks::open_hugetlb, map_hugetlb and unmap_hugetlb.
int open_hugetlb(size_t page_bytes);
int map_hugetlb(void *start, size_t bytes, size_t page_bytes);
int unmap_hugetlb(void *start, size_t bytes);

/// Hands a forked child its copy of pool memory through a socket pair. Both sides call it for each
/// run of pool pages, in the same order. A process without pool pages does not use it.
class ForkGate {
public:
  /// Opens the sockets, in the parent before fork. Returns false without descriptors; the child
  /// then shares the pages and copies them on write.
  bool prepare();
  /// Sends a run's bytes, in the parent after fork. Returns false if the child is gone.
  bool send(const char *start, size_t bytes);
  /// Maps ordinary memory in place of the inherited run and fills it with the parent's contents, in
  /// the child. Returns false if the parent is gone or there is no memory. REQUIRES: no access to
  /// the run between fork and this call.
  bool receive(char *start, size_t bytes);
  /// Each closes the other side's end, so that a read or write detects the other's death. The
  /// parent and the child call theirs first of all after fork.
  void enter_parent() { close_end(1); }
  void enter_child() { close_end(0); }
  void close_both();

private:
  void close_end(unsigned index);
  int ends_[2] = {-1, -1}; ///< [0]: the parent's end, [1]: the child's end
};

} // namespace smalloc
#endif
