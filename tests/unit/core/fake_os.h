// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fake_os.h: the hook table answered by a test. Memory is real (one mapping of the whole
// reservation), everything that the kernel decides is scripted: which commits fail, which units are
// resident, what a collapse costs and returns.
#ifndef TESTS_UNIT_CORE_FAKE_OS_H
#define TESTS_UNIT_CORE_FAKE_OS_H

#include "smalloc/base/units.h"
#include "smalloc/core/region.h"

#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <sys/mman.h>

namespace smalloc {

struct FakeOs {
  static inline char *memory = nullptr;
  static inline size_t size = 0;
  static inline uint64_t clock_ns = 0;
  static inline uint64_t collapse_cost_ns = 1500000;
  static inline bool refuse_reserve = false;
  static inline int refuse_commits_after = -1; ///< so many succeed; -1: all
  static inline std::function<int(char *)> collapse_result;
  static inline std::function<size_t(const char *)> resident;
  static inline std::set<const char *> collapsed;
  static inline std::map<char *, size_t> committed; ///< by start
  static inline int hugetlb_error = 0, purge_error = 0, move_error = 0;
  static inline unsigned advices = 0, purges = 0, decommits = 0;

  static void reset() {
    if (memory)
      munmap(memory, size);
    memory = nullptr;
    clock_ns = 1000;
    collapse_cost_ns = 1500000;
    refuse_reserve = false;
    refuse_commits_after = -1;
    collapse_result = [](char *) { return 0; };
    resident = [](const char *) { return kPagesPerUnit; };
    collapsed.clear();
    hugetlb_error = purge_error = move_error = 0;
    advices = purges = decommits = 0;
  }
  static const OsHooks &hooks() {
    static const OsHooks table = {
        [](size_t bytes) -> void * {
          if (refuse_reserve)
            return nullptr;
          size = bytes + kSuperpageBytes;
          memory = static_cast<char *>(mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
          return reinterpret_cast<void *>(
              align_up(reinterpret_cast<uintptr_t>(memory), kSuperpageBytes));
        },
        [](void *, size_t) {
          if (refuse_commits_after == 0)
            return ENOMEM;
          if (refuse_commits_after > 0)
            refuse_commits_after--;
          return 0;
        },
        [](void *p, size_t n) {
          decommits++;
          madvise(p, n, MADV_DONTNEED);
          return 0;
        },
        [](void *p, size_t n) {
          purges++;
          if (purge_error)
            return purge_error;
          madvise(p, n, MADV_DONTNEED);
          return 0;
        },
        [](void *, size_t, Advice) {
          advices++;
          return 0;
        },
        [](void *p, size_t) {
          clock_ns += collapse_cost_ns;
          int error = collapse_result(static_cast<char *>(p));
          if (!error)
            collapsed.insert(static_cast<char *>(p));
          return error;
        },
        [](const void *p, size_t) { return resident(static_cast<const char *>(p)); },
        [](void *from, void *to, size_t n) {
          if (move_error)
            return move_error;
          memcpy(to, from, n);
          madvise(from, n, MADV_DONTNEED);
          return 0;
        },
        [](void *, size_t) { return hugetlb_error; },
        [](void *p, size_t n) {
          madvise(p, n, MADV_DONTNEED);
          return 0;
        },
        [] { return clock_ns; },
        [](const char *, char *, size_t) -> long { return -1; },
        [](const char *, size_t) {},
    };
    return table;
  }
  static Region::Config config() {
    Region::Config c;
    c.os = &hooks();
    c.bytes = size_t{16} << 30;
    return c;
  }
};

} // namespace smalloc
#endif
