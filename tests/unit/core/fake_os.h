// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fake_os.h implements the hook table for tests. Memory is real (one mapping of the whole
// reservation). Every decision of the kernel is scripted: failing commits, resident units, the cost
// and result of a collapse.
#ifndef TESTS_UNIT_CORE_FAKE_OS_H
#define TESTS_UNIT_CORE_FAKE_OS_H

#include "smalloc/base/units.h"
#include "smalloc/pages/page_fallback.h"
#include "smalloc/pages/region.h"

#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <sys/mman.h>
#include <utility>

namespace smalloc {

struct FakeOs {
  static inline char *memory = nullptr;
  static inline size_t size = 0;
  static inline uint64_t clock_ns = 0;
  static inline uint64_t collapse_cost_ns = 1500000;
  static inline bool refuse_reserve = false;
  static inline int refuse_commits_after = -1; ///< the number of commits that succeed; -1: all
  static inline std::function<int(char *)> collapse_result;
  static inline std::function<size_t(const char *)> resident; ///< resident pages of a whole unit
  /// Resident pages of this many bytes; if set, replaces `resident`.
  static inline std::function<size_t(const char *, size_t)> resident_part;
  static inline std::function<uint64_t(char *)> populate;
  static inline std::function<void()> on_decommit; ///< runs once, as another thread would meanwhile
  static inline std::function<uint64_t()> first_touch;
  static inline std::function<bool(const char *)> holds_data;
  static inline std::function<unsigned(const char *)>
      filled_parts; ///< filled parts of a unit for which holds_data() is false
  static inline std::function<UnitPages(const char *)> unit_pages;
  static inline std::set<const char *> collapsed, split;
  static inline std::map<const char *, const char *> idle_of_split; ///< idle page, by unit
  static inline std::map<char *, size_t> committed;                 ///< by start
  static inline int hugetlb_error = 0, purge_error = 0, move_error = 0;
  static inline int advise_error = 0;
  static inline bool disabled = false; ///< transparent superpages are disabled in this process
  struct PoolPages {
    size_t bytes, page;
  };
  static inline std::map<char *, PoolPages> pooled; ///< by start
  static inline std::function<int(size_t)> open_hugetlb_result;
  static inline std::function<int(size_t, size_t)> map_hugetlb_result;
  static inline std::map<std::string, std::string> files; ///< contents for read_file
  static inline unsigned advices = 0, purges = 0, decommits = 0;
  static inline size_t decommitted_parts = 0;     ///< calls for a range that ends within a unit
  static inline std::map<char *, size_t> advised; ///< ranges advised for superpages, by start
  static inline std::set<char *> refused;         ///< ranges advised against superpages, by start
  static inline std::map<char *, size_t> unreserved; ///< by start
  static inline std::set<char *> several_mappings;   ///< ranges that are not one mapping, by start

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
    resident_part = nullptr;
    populate = [](char *) { return 100000; };
    first_touch = [] { return 600000; };
    holds_data = [](const char *) { return false; };
    filled_parts = [](const char *) { return 0u; };
    unit_pages = [](const char *) { return UnitPages::kSuperpage; };
    on_decommit = nullptr;
    collapsed.clear();
    split.clear();
    idle_of_split.clear();
    disabled = false;
    hugetlb_error = purge_error = move_error = advise_error = 0;
    pooled.clear();
    open_hugetlb_result = [](size_t) { return 0; };
    map_hugetlb_result = [](size_t, size_t) { return 0; };
    files.clear();
    set_thp("madvise");
    advices = purges = decommits = 0;
    decommitted_parts = 0;
    advised.clear();
    refused.clear();
    unreserved.clear();
    several_mappings.clear();
  }
  static void set_thp(const std::string &mode, const std::string &medium = "never") {
    const std::string folder = "/sys/kernel/mm/transparent_hugepage/";
    files[folder + "enabled"] = "always madvise never " + ("[" + mode + "]");
    files[folder + "hugepages-2048kB/enabled"] = "always [inherit] madvise never";
    files[folder + "hugepages-64kB/enabled"] = "[" + medium + "]";
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
          decommitted_parts += (reinterpret_cast<uintptr_t>(p) + n) % kSuperpageBytes != 0;
          if (const auto meanwhile = std::exchange(on_decommit, nullptr))
            meanwhile();
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
        [](void *p, size_t n, Advice advice) {
          advices++;
          if (advice == Advice::kSuperpages)
            advised[static_cast<char *>(p)] = n;
          else if (advice == Advice::kNoSuperpages)
            advised.erase(static_cast<char *>(p));
          if (advice == Advice::kNoSuperpages)
            refused.insert(static_cast<char *>(p));
          else
            refused.erase(static_cast<char *>(p));
          return advise_error;
        },
        [](void *p, size_t) {
          clock_ns += collapse_cost_ns;
          int error = collapse_result(static_cast<char *>(p));
          if (!error)
            collapsed.insert(static_cast<char *>(p));
          return error;
        },
        [](const void *p, size_t n) {
          const auto *start = static_cast<const char *>(p);
          return resident_part ? resident_part(start, n) : resident(start);
        },
        [](void *from, void *to, size_t n) {
          if (move_error)
            return move_error;
          memcpy(to, from, n);
          madvise(from, n, MADV_DONTNEED);
          return 0;
        },
        [](size_t page) { return open_hugetlb_result(page); },
        [](void *p, size_t n, size_t page) {
          int error = hugetlb_error ? hugetlb_error : map_hugetlb_result(n, page);
          if (!error)
            pooled[static_cast<char *>(p)] = {n, page};
          return error;
        },
        [](void *p, size_t n) {
          madvise(p, n, MADV_DONTNEED);
          pooled.erase(static_cast<char *>(p));
          return 0;
        },
        [] { return clock_ns; },
        [](const char *path, char *buffer, size_t capacity) -> long {
          auto file = files.find(path);
          if (file == files.end())
            return -1;
          size_t n = std::min(file->second.size(), capacity - 1);
          memcpy(buffer, file->second.data(), n);
          buffer[n] = 0;
          return static_cast<long>(n);
        },
        [](const char *, size_t) {},
        [](void *p, void *idle_page) {
          collapsed.erase(static_cast<char *>(p));
          split.insert(static_cast<char *>(p));
          idle_of_split[static_cast<char *>(p)] = static_cast<char *>(idle_page);
          if (idle_page) // the kernel may drop its contents
            madvise(idle_page, kBasePageBytes, MADV_DONTNEED);
          return 0;
        },
        [] { return 0; },
        [] { return disabled; },
        [](void *p, size_t n) {
          unreserved[static_cast<char *>(p)] = n;
          return 0;
        },
        [](void *p, size_t) { return populate(static_cast<char *>(p)); },
        [] { return first_touch(); },
        [](const void *unit) {
          const auto *start = static_cast<const char *>(unit);
          return (1u << (holds_data(start) ? kUnitParts : filled_parts(start))) - 1;
        },
        [](void *p, size_t) { return !several_mappings.count(static_cast<char *>(p)); },
        [](const void *unit) { return unit_pages(static_cast<const char *>(unit)); },
    };
    return table;
  }
  /// Initialises a page fallback on the scripted system.
  static void make_page_fallback(PageFallback &page_fallback, Counters &counters,
                                 PageBacking asked = PageBacking::kThp) {
    PageFallback::Config c;
    c.asked = asked;
    page_fallback.init(hooks(), c, counters);
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
