// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// counters.h counts the allocator's work for smalloc_stats() and for the table at exit. Counters
// are relaxed atomics, and only slow paths change them.
#ifndef SMALLOC_PAGES_COUNTERS_H
#define SMALLOC_PAGES_COUNTERS_H

#include "smalloc/base/units.h"

#include <atomic>
#include <stddef.h>
#include <stdint.h>

namespace smalloc {

class Counter {
public:
  void add(uint64_t n = 1) noexcept { value_.fetch_add(n, std::memory_order_relaxed); }
  void sub(uint64_t n) noexcept { value_.fetch_sub(n, std::memory_order_relaxed); }
  uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }
  void set(uint64_t n) noexcept { value_.store(n, std::memory_order_relaxed); }
  /// Raises the value to `n`, for peaks.
  void raise(uint64_t n) noexcept {
    uint64_t seen = get();
    while (seen < n && !value_.compare_exchange_weak(seen, n, std::memory_order_relaxed)) {
    }
  }

private:
  std::atomic<uint64_t> value_{0};
};

/// Kinds of pages in the order of the fallback (page_fallback.h), best first.
enum class PageKind : uint8_t { kGigantic, kHugetlb, kSuperpage, kMedium, kBase };
inline constexpr unsigned kPageKinds = 5;
constexpr size_t page_bytes(PageKind kind) {
  constexpr size_t kBytes[] = {size_t{1} << 30, kSuperpageBytes, kSuperpageBytes, size_t{64} << 10,
                               kBasePageBytes};
  return kBytes[static_cast<unsigned>(kind)];
}
/// Reasons why a request did not get a kind of page.
enum class WhyNot : uint8_t {
  kNoLibrary,   ///< libhugetlbfs is missing
  kNoSuchSize,  ///< the kernel has no pages of this size, or does not report them
  kSwitchedOff, ///< by the administrator
  kPoolEmpty,   ///< fewer free pool pages than the object has
  kLimit,       ///< a cgroup's limit
  kRefused,     ///< the system call was refused otherwise
  kNoMemory,    ///< no memory at all
  kBudget,      ///< the `budget:` is used up
  kMappings,    ///< libsmalloc's share of the process' mappings is used up
  kExpensive,   ///< their first touch costs too much at the moment (first_touch_cost.h)
};
inline constexpr unsigned kWhyNots = 10;

enum CollapseFailure { kCollapseInvalid, kCollapseAgain, kCollapseNoMemory, kCollapseOther };
inline constexpr unsigned kCollapseFailures = 4;

struct Counters {
  Counter big_objects, big_objects_now, big_bytes, big_bytes_now, big_bytes_peak;
  Counter superpages_now, superpages_peak;
  Counter superpages_at_first_touch; ///< units whose first touch is one fault instead of 512
  Counter superpages_ahead; ///< the part of them that an object got while the program filled it
  Counter promotions, collapse_failures[kCollapseFailures], units_too_sparse, collapse_ns;
  Counter superpages_broken; ///< by a fork, at the last check; superpages_now includes them
  Counter superpages_mended; ///< broken ones that were rebuilt
  Counter demotions;         ///< superpages that became base pages while in use
  Counter units_reused;      ///< kept units handed out again, without a page fault
  Counter pages_released;    ///< base pages returned to the system
  /// Requests that a heap of libsmalloc could not serve, and the program's malloc served.
  Counter fallbacks;
  Counter requests_on[kPageKinds]; ///< big objects by the best kind of page they got at first touch
  Counter pool_units[kPageKinds];  ///< live units of 2 MiB from pools
  Counter not_on[kPageKinds][kWhyNots]; ///< kinds that requests did not get, and why
  /// Big objects of sites whose directive names pages of 1 GiB or 64 KiB, and how many of them got
  /// some.
  Counter directed_1g, directed_1g_got, directed_mthp, directed_mthp_got;
  Counter mappings; ///< estimate of the mappings that libsmalloc's objects cost
  Counter moves;    ///< reallocations whose pages moved instead of their bytes
  Counter freezes, class_units_collapsed, migration_ns;
  Counter small_bytes_now, small_bytes_peak; ///< committed for the main heap of small objects
  Counter class_bytes_now, class_bytes_peak; ///< committed for the class heap
  Counter node_bytes_now, node_bytes_peak;   ///< committed for small objects whose sites name nodes
  /// Pages of their superpages that hold no object.
  Counter small_idle_bytes, class_idle_bytes, node_idle_bytes;
  Counter node_policies_refused; ///< node_units that lie where they are first touched instead
  /// Superpages of the program itself: program:static, program:text, program:stack (advised).
  Counter static_superpages, text_superpages, stack_superpages;
  /// Superpages of memory that the program has mapped itself, including mappings that are gone.
  Counter mapped_superpages_advised, mapped_superpages_promoted;
  /// Superpages of the heap of the program's malloc, which the program has filled.
  Counter malloc_superpages, malloc_superpages_peak;
};

/// Maps a counter to its name in statistics. The static_assert below checks that every counter has
/// a name.
struct CounterName {
  size_t offset;
  const char *name;
};
#define SMALLOC_COUNTER(field) {offsetof(Counters, field), #field}
#define SMALLOC_COUNTER_AT(field, index, name)                                                     \
  {offsetof(Counters, field) + (index) * sizeof(Counter), name}
#define SMALLOC_COUNTER_OF_KINDS(field)                                                            \
  SMALLOC_COUNTER_AT(field, 0, #field "_1g"), SMALLOC_COUNTER_AT(field, 1, #field "_hugetlb"),     \
      SMALLOC_COUNTER_AT(field, 2, #field "_thp"), SMALLOC_COUNTER_AT(field, 3, #field "_mthp"),   \
      SMALLOC_COUNTER_AT(field, 4, #field "_base")
#define SMALLOC_REFUSAL(kind, name, why, reason)                                                   \
  SMALLOC_COUNTER_AT(not_on, (kind) * kWhyNots + (why), "not_on_" name "_" reason)
#define SMALLOC_REFUSALS(kind, name)                                                               \
  SMALLOC_REFUSAL(kind, name, 0, "no_library"), SMALLOC_REFUSAL(kind, name, 1, "no_such_size"),    \
      SMALLOC_REFUSAL(kind, name, 2, "switched_off"),                                              \
      SMALLOC_REFUSAL(kind, name, 3, "pool_empty"), SMALLOC_REFUSAL(kind, name, 4, "limit"),       \
      SMALLOC_REFUSAL(kind, name, 5, "refused"), SMALLOC_REFUSAL(kind, name, 6, "no_memory"),      \
      SMALLOC_REFUSAL(kind, name, 7, "budget"), SMALLOC_REFUSAL(kind, name, 8, "mappings"),        \
      SMALLOC_REFUSAL(kind, name, 9, "expensive")
inline constexpr CounterName kCounterNames[] = {
    SMALLOC_COUNTER(big_objects),
    SMALLOC_COUNTER(big_objects_now),
    SMALLOC_COUNTER(big_bytes),
    SMALLOC_COUNTER(big_bytes_now),
    SMALLOC_COUNTER(big_bytes_peak),
    SMALLOC_COUNTER(superpages_now),
    SMALLOC_COUNTER(superpages_peak),
    SMALLOC_COUNTER(superpages_at_first_touch),
    SMALLOC_COUNTER(superpages_ahead),
    SMALLOC_COUNTER(promotions),
    {offsetof(Counters, collapse_failures) + kCollapseInvalid * sizeof(Counter),
     "promotions_failed_einval"},
    {offsetof(Counters, collapse_failures) + kCollapseAgain * sizeof(Counter),
     "promotions_failed_eagain"},
    {offsetof(Counters, collapse_failures) + kCollapseNoMemory * sizeof(Counter),
     "promotions_failed_enomem"},
    {offsetof(Counters, collapse_failures) + kCollapseOther * sizeof(Counter),
     "promotions_failed_other"},
    SMALLOC_COUNTER(units_too_sparse),
    {offsetof(Counters, collapse_ns), "promotion_ns"},
    SMALLOC_COUNTER(superpages_broken),
    SMALLOC_COUNTER(superpages_mended),
    SMALLOC_COUNTER(demotions),
    SMALLOC_COUNTER(units_reused),
    SMALLOC_COUNTER(pages_released),
    SMALLOC_COUNTER(fallbacks),
    SMALLOC_COUNTER_OF_KINDS(requests_on),
    SMALLOC_COUNTER_OF_KINDS(pool_units),
    SMALLOC_REFUSALS(0, "1g"),
    SMALLOC_REFUSALS(1, "hugetlb"),
    SMALLOC_REFUSALS(2, "thp"),
    SMALLOC_REFUSALS(3, "mthp"),
    SMALLOC_REFUSALS(4, "base"),
    SMALLOC_COUNTER(directed_1g),
    SMALLOC_COUNTER(directed_1g_got),
    SMALLOC_COUNTER(directed_mthp),
    SMALLOC_COUNTER(directed_mthp_got),
    SMALLOC_COUNTER(mappings),
    SMALLOC_COUNTER(moves),
    {offsetof(Counters, freezes), "migrations"},
    {offsetof(Counters, class_units_collapsed), "migrated_superpages"},
    SMALLOC_COUNTER(migration_ns),
    SMALLOC_COUNTER(small_bytes_now),
    SMALLOC_COUNTER(small_bytes_peak),
    SMALLOC_COUNTER(class_bytes_now),
    SMALLOC_COUNTER(class_bytes_peak),
    SMALLOC_COUNTER(node_bytes_now),
    SMALLOC_COUNTER(node_bytes_peak),
    SMALLOC_COUNTER(small_idle_bytes),
    SMALLOC_COUNTER(class_idle_bytes),
    SMALLOC_COUNTER(node_idle_bytes),
    SMALLOC_COUNTER(node_policies_refused),
    SMALLOC_COUNTER(static_superpages),
    SMALLOC_COUNTER(text_superpages),
    SMALLOC_COUNTER(stack_superpages),
    SMALLOC_COUNTER(mapped_superpages_advised),
    SMALLOC_COUNTER(mapped_superpages_promoted),
    SMALLOC_COUNTER(malloc_superpages),
    SMALLOC_COUNTER(malloc_superpages_peak),
};
#undef SMALLOC_COUNTER
#undef SMALLOC_COUNTER_AT
#undef SMALLOC_COUNTER_OF_KINDS
#undef SMALLOC_REFUSAL
#undef SMALLOC_REFUSALS
inline constexpr size_t kCounters = sizeof kCounterNames / sizeof kCounterNames[0];
static_assert(kCounters * sizeof(Counter) == sizeof(Counters), "a counter lacks its name");

} // namespace smalloc
#endif
