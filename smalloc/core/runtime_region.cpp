// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// runtime_region.cpp starts what all heaps share: the address range, its kinds of pages and its
// budget. The limits that are set at the start, and locked memory, decide the range's size. A
// program that limits its address space later gets most of the range back.
#include "smalloc/base/clock.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/core/runtime.h"
#include "smalloc/jemalloc/thread_cache.h"
#include "smalloc/os/own_stack.h"
#include "smalloc/pages/data_limit.h"
#include "smalloc/process/process_memory.h"
#include "smalloc/sites/object_placement.h"
#include "smalloc/sites/site_words.h"

#include <initializer_list>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

namespace smalloc {
namespace {
constexpr size_t kLeastReserved = size_t{256} << 20;
/// Returns the most bytes to reserve under a limit of address space. The program needs most of it:
/// take an eighth.
size_t most_under_limit(uint64_t limit) {
  const size_t memory = system_memory_bytes();
  return min_of(memory / 4, static_cast<size_t>(limit) / 8);
}
} // namespace

void Runtime::limit_address_space(uint64_t limit) {
  const size_t bytes = most_under_limit(limit);
  // A child of vfork that sets limits for its next program shares this memory, but is another
  // process.
  if (!running() || bytes >= region_.bytes() || getpid() != process_)
    return;
  KeepErrno keep;
  SpinGuard guard(limit_lock_);
  // Before other memory can be mapped there.
  g_range.has_holes.store(true);
  for (const Slice s : {Slice::kTables, Slice::kMeta, Slice::kSmallBase, Slice::kSmallSuper,
                        Slice::kClass, Slice::kNode})
    region_.shrink(s, bytes);
  big_.shrink(bytes);
}

void Runtime::all_locked(bool existing, FutureLock future) {
  set_future_lock(future); // first: later commits of other threads take the lock state from it
  if (existing && running())
    on_own_stack([this] {
      unlock_all_reserved(reinterpret_cast<void *>(region_.start()), region_.bytes());
    });
}

/// Returns the warning for a failed start, by the limits that are set.
const char *Runtime::no_address_space() const {
  rlimit limit;
  return memory_locked_ && getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY
             ? "no room for the superpage heaps in locked memory (ulimit -l); the program's malloc "
               "serves"
             : "no address space for the superpage heaps (ulimit -v?); the program's malloc serves";
}

/// Returns the bytes of address space to reserve: the setting, else 16 x the memory of the machine.
/// These are enough for tables that are reserved and hardly touched, and few enough for
/// libsmalloc's own tables. Limits of address space, data and locked memory lower the number.
size_t Runtime::bytes_to_reserve() {
  if (options_.reserve_bytes)
    return options_.reserve_bytes;
  constexpr size_t kGiB = size_t{1} << 30;
  size_t memory = system_memory_bytes();
  size_t bytes = align_up(min_of(max_of(memory * 16, 16 * kGiB), 1024 * kGiB), kGiB);
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    bytes = min_of(bytes, most_under_limit(limit.rlim_cur));
  // Do not fill a limit of data with tables for memory that is not available.
  if (const uint64_t data = data_limit(); data < bytes / 16)
    bytes = data * 16;
  // After mlockall(MCL_FUTURE) libsmalloc's tables are resident, and count as locked.
  memory_locked_ = future_lock() != FutureLock::kNone;
  if (memory_locked_) {
    const bool limited =
        getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && geteuid() != 0;
    return limited && limit.rlim_cur < kLeastReserved ? 0 : min_of(bytes, memory / 4);
  }
  // An mlockall() by a direct system call was not intercepted. It makes the reservation locked
  // memory.
  static char status[4096]; // static: one thread runs start(), perhaps on a signal handler's stack
  if (kLinux.read_file("/proc/self/status", status, sizeof status) > 0) {
    const char *locked = strstr(status, "VmLck:");
    bool any = false;
    for (const char *c = locked ? locked + 6 : ""; *c && *c != '\n'; c++)
      any |= *c >= '1' && *c <= '9';
    if (any) {
      memory_locked_ = true;
      bytes = min_of(bytes, memory / 4);
      if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
          geteuid() != 0)
        bytes = min_of(bytes, static_cast<size_t>(limit.rlim_cur) / 4);
    }
  }
  return bytes;
}

/// Returns the settings that choose the page kinds.
PageFallback::Config Runtime::page_fallback_config() const {
  const Options &o = options_;
  PageFallback::Config config;
  config.asked = o.pages;
  config.force = o.force;
  config.only_advised = o.only_advised;
  config.directed_gigantic = modules_name_page(kGiganticShift);
  config.sysfs = o.sysfs;
  if (o.budget_percent && (o.pages == PageBacking::kHugetlb || o.pages == PageBacking::kGigantic))
    config.most_pool_units = Budget::pool_share(
        kLinux, o.sysfs, o.pages == PageBacking::kGigantic || config.directed_gigantic,
        o.budget_percent);
  return config;
}

/// True if one budget covers all memory. A share of a pool applies only to pool pages.
bool Runtime::one_budget() const { return !page_fallback_.pools() || !options_.budget_percent; }

/// Returns the region's configuration. `most_pool_units`: the budget in pages of a pool.
Region::Config Runtime::region_config(uint64_t most_pool_units) {
  const Options &o = options_;
  Region::Config config;
  config.os = &kLinux;
  // If unadvised memory gets superpages, libsmalloc's memory has to be advised against them.
  config.thp = page_fallback_.settings().superpage.unadvised ? ThpMode::kAlways : ThpMode::kMadvise;
  config.thp_allowed = page_fallback_.superpages();
  config.superpages_allowed =
      page_fallback_.superpages() || page_fallback_.pools(PageKind::kGigantic);
  config.medium_advice = page_fallback_.advises_medium() && !page_fallback_.primes_medium();
  config.budget.bytes = o.budget_bytes;
  config.budget.percent = o.budget_percent;
  config.budget.pool_units = page_fallback_.pools() ? most_pool_units : 0;
  config.budget.sysfs = o.sysfs;
  config.mapping_limit = number_in_file(kLinux, "/proc/sys/vm/max_map_count", 65530);
  config.pending = &__smalloc_v1_pending;
  config.passes_below = &g_malloc_entry.foreign_below;
  if (one_budget())
    config.charged_before = image_superpages();
  return config;
}

/// Prepares superpages for memory that the program maps itself.
void Runtime::start_mapped_ranges() {
  MappedRanges::Config config;
  config.os = &kLinux;
  config.pending = &__smalloc_v1_pending;
  config.passes_below = &g_malloc_entry.foreign_below;
  if (one_budget())
    config.budget = &region_;
  else
    config.units_left = Budget::most_bytes(0, options_.budget_percent) / kSuperpageBytes;
  mapped_.init(config, counters());
}

/// Returns the configuration of the heap of big objects.
BigObjects::Config Runtime::big_config() {
  BigObjects::Config config;
  config.first_touch = &first_touch_cost_;
  config.thread_cpu_ns = clock_ns<CLOCK_THREAD_CPUTIME_ID>;
  config.process_cpu_ns = clock_ns<CLOCK_PROCESS_CPUTIME_ID>;
  config.cache_bytes = options_.cache_bytes;
  config.place = [](char *start, size_t bytes, numa::Placement placement) {
    return g_placement.place(start, bytes, placement);
  };
  config.may_demote = options_.demote_percent != 0;
  config.small = &g_small.main_pages();
  return config;
}

/// Reserves the address range, half as much at each refusal. False: there is no room.
bool Runtime::reserve_range(Region::Config config) {
  config.bytes = bytes_to_reserve();
  while (config.bytes >= kLeastReserved && !region_.init(config, counters()))
    config.bytes /= 2;
  return region_.bytes() != 0;
}

/// Starts what all heaps share, and the heap of big objects. False: there is no room.
bool Runtime::start_region() {
  const PageFallback::Config pages = page_fallback_config();
  page_fallback_.init(kLinux, pages, counters());
  thp_ = page_fallback_.settings().general;
  sites_served_ = page_fallback_.any() || options_.pages == PageBacking::kBase;
  const Region::Config config = region_config(pages.most_pool_units);
  start_mapped_ranges();
  if (options_.populate == FirstTouchPolicy::kAuto)
    first_touch_cost_.init(kLinux);
  if (!reserve_range(config) || !big_.init(region_, page_fallback_, big_config()))
    return false;
  watch_forks();
  return true;
}

} // namespace smalloc
