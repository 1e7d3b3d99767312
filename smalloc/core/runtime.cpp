// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// runtime.cpp decides how a decision at run time is taken: from the cell's word, the request's size
// and the state of our heaps. The order of tests is the order of costs: a request that is not ours
// leaves after a few compares.
#include "smalloc/core/runtime.h"
#include "smalloc/agent/directives.h"
#include "smalloc/core/debug.h"
#include "smalloc/core/modules.h"
#include "smalloc/core/promotion_thread.h"
#include "smalloc/core/stats.h"
#include "smalloc/core/stats_exit.h"
#include "smalloc/include/smalloc/machine.h"
#include "smalloc/include/smalloc/smalloc.h"
#include "smalloc/os/fork_locks.h"
#include "smalloc/os/loaded_objects.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

SMALLOC_EXPORT unsigned __smalloc_v1_pending; // declared in site.h
unsigned __smalloc_v1_pending = 0;

/// libsmalloc_feedback.so's, when it is loaded.
extern "C" void smalloc_phase(const char *name) __attribute__((weak));

namespace smalloc {

// Constant initialisation: images register before constructors of ours run.
constinit Range g_range;
constinit Runtime g_runtime;
constinit Directives g_directives;

namespace {
constexpr uint64_t kPauseNs =
    2000000; ///< longest that one promotion point may hold a program up on credit
/// Independent accesses overlap their walks: a saved miss of a hash probe or a match finder is worth about an eighth of the
/// walk (measured: 16 M probes of 512 MiB run 0.05 s faster with superpages, an LZMA dictionary of 128 MiB about 1 s of
/// 12); a dependent one all of it. The promotion point does not tell them apart, so it counts for the cheaper kind:
/// rather late than at a loss.
constexpr uint64_t kOverlappedWalks = 8;
constexpr uint64_t kSmallTouch = 4096; ///< a promotion point worth fewer misses only counts
constexpr unsigned kTouchesPerLook = 4096;
constexpr size_t kBackToMallocBytes = size_t{64}
                                      << 10; ///< a big object shrunk below this gives its unit back

struct TouchThread {
  uint64_t misses;
  unsigned calls;
};
__thread TouchThread t_touch __attribute__((tls_model("initial-exec")));

class KeepErrno {
public:
  KeepErrno() : saved_(errno) {}
  ~KeepErrno() { errno = saved_; }

private:
  int saved_;
};

void print_warning(Text line) { kLinux.write_error(line.data, line.size); }

/// Memcheck and its like put their own free() in front of everybody's inside the process, unseen by symbol lookup; tools
/// that only count (callgrind, cachegrind) preload nothing but valgrind's core.
bool valgrind_replaces_free(const char *preloaded) {
  while (preloaded && (preloaded = strstr(preloaded, "vgpreload_"))) {
    preloaded += strlen("vgpreload_");
    if (strncmp(preloaded, "core", 4) != 0)
      return true;
  }
  return false;
}

/// 0 when the kernel does not tell.
uint64_t resident_bytes(const OsHooks &os) {
  char text[128];
  if (os.read_file("/proc/self/statm", text, sizeof text) <= 0)
    return 0;
  const char *resident = strchr(text, ' ');
  return resident ? strtoull(resident, nullptr, 10) * kBasePageBytes : 0;
}

/// A program that imports another allocator's own interface passes our pointers to it sooner or
/// later.
const char *const kForeignInterfaces[] = {"mallocx",  "rallocx", "xallocx", "sallocx", "dallocx",
                                          "sdallocx", "tc_free", "mi_free", "je_free", nullptr};
} // namespace

const Options &Runtime::options() {
  if (SMALLOC_LIKELY(options_read_.load(std::memory_order_acquire)))
    return options_;
  SpinGuard guard(options_lock_);
  if (!options_read_.load(std::memory_order_relaxed)) {
    bool privileged = getauxval(AT_SECURE) != 0;
    if (const char *conf = getenv("SMALLOC_CONF"))
      parse_options(Text(conf), privileged, options_, print_warning);
    if (options_.trace && !smalloc_phase)
      print_warning("smalloc: warning: SMALLOC_CONF: 'trace' needs libsmalloc_feedback.so (smalloc "
                    "record loads it), ignored\n");
    if (*options_.directives)
      load_directives();
    strategy_ = options_.heap;
    options_read_.store(true, std::memory_order_release);
  }
  return options_;
}

void Runtime::load_directives() {
  if (const char *why = g_directives.load(options_.directives)) {
    TextBuffer<512> line;
    line.put("smalloc: warning: directives (").put(options_.directives).put("): ").put(why);
    print_warning(line.put(", ignored\n").text());
  }
}

void Runtime::warn(Text text) {
  TextBuffer<512> line;
  line.put("smalloc: warning: ").put(text).put_char('\n');
  kLinux.write_error(line.data(), line.size());
}

void Runtime::switch_off(const char *why) {
  state_.store(HeapState::kOff, std::memory_order_release);
  if (why && !warned_.exchange(true))
    warn(Text(why));
}

/// 16 x the memory there is: room for tables that are reserved and hardly touched, small enough for
/// our own tables.
size_t Runtime::bytes_to_reserve() {
  if (options_.reserve_bytes)
    return options_.reserve_bytes;
  constexpr size_t kGiB = size_t{1} << 30;
  size_t memory = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * kBasePageBytes;
  size_t bytes = align_up(min_of(max_of(memory * 16, 16 * kGiB), 1024 * kGiB), kGiB);
  rlimit limit;
  // Under a limit of address space ours must leave the program its own: an eighth.
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    bytes = min_of(bytes, min_of(memory / 4, static_cast<size_t>(limit.rlim_cur) / 8));
  // After mlockall(MCL_FUTURE) a reservation counts as locked memory.
  char status[4096];
  if (kLinux.read_file("/proc/self/status", status, sizeof status) > 0) {
    const char *locked = strstr(status, "VmLck:");
    bool any = false;
    for (const char *c = locked ? locked + 6 : ""; *c && *c != '\n'; c++)
      any |= *c >= '1' && *c <= '9';
    if (any) {
      bytes = min_of(bytes, memory / 4);
      if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
          geteuid() != 0)
        bytes = min_of(bytes, static_cast<size_t>(limit.rlim_cur) / 4);
    }
  }
  return bytes;
}

bool Runtime::start_region() {
  const Options &o = options_;
  Ladder::Config ladder_config;
  ladder_config.asked = o.pages;
  ladder_config.force = o.force;
  ladder_config.only_ours = o.only_ours;
  ladder_config.sysfs = o.sysfs;
  ladder_.init(kLinux, ladder_config, counters());
  thp_ = ladder_.settings().general;
  Region::Config config;
  config.os = &kLinux;
  // What unadvised memory gets decides whether ours must be kept from it.
  config.thp = ladder_.settings().superpage.unadvised ? ThpMode::kAlways : ThpMode::kMadvise;
  config.thp_allowed = ladder_.superpages();
  config.superpages_allowed = ladder_.superpages() || ladder_.pools();
  config.medium_advice = ladder_.advises_medium() && !ladder_.primes_medium();
  config.budget.bytes = o.budget_bytes;
  config.budget.percent = o.budget_percent;
  config.budget.of_pool = ladder_.pools();
  config.budget.pool_page =
      o.pages == PageBacking::kGigantic ? page_bytes(PageKind::kGigantic) : kSuperpageBytes;
  config.budget.sysfs = o.sysfs;
  sites_served_ = ladder_.any() || o.pages == PageBacking::kBase;
  config.mapping_limit = number_in_file(kLinux, "/proc/sys/vm/max_map_count", 65530);
  config.pending = &__smalloc_v1_pending;

  BigObjects::Config big_config;
  big_config.cache_bytes = o.cache_bytes;
  big_config.may_demote = o.demote_percent != 0;
  constexpr size_t kLeastBytes = size_t{256} << 20;
  config.bytes = bytes_to_reserve();
  while (config.bytes >= kLeastBytes && !region_.init(config, counters()))
    config.bytes /= 2;
  return region_.bytes() != 0 && big_.init(region_, ladder_, big_config);
}

bool Runtime::start() {
  HeapState seen = HeapState::kUninitialised;
  if (state_.load(std::memory_order_acquire) == HeapState::kOff)
    return false;
  if (!state_.compare_exchange_strong(seen, HeapState::kStarting, std::memory_order_acq_rel))
    return seen == HeapState::kReady; // another thread, or we ourselves further up: the program's
                                      // malloc serves
  KeepErrno keep;
  const Options &o = options();
  if (o.heap_given && o.heap == HeapStrategy::kOff) {
    switch_off(nullptr);
    return false;
  }
  if (const char *why = modules_who_owns_free()) {
    switch_off(*why ? why : nullptr);
    return false;
  }
  if (valgrind_replaces_free(getenv("LD_PRELOAD"))) {
    switch_off("the program runs under valgrind, whose free() does not know smalloc's objects; "
               "superpage heaps are off");
    return false;
  }
  if (const char *name = executable_mentions(kForeignInterfaces)) {
    TextBuffer<256> text;
    text.put("the program uses another allocator's own interface (")
        .put(name)
        .put("); superpage heaps are off");
    warn(text.text());
    switch_off(nullptr);
    return false;
  }
  const smalloc_machine *machine = smalloc_machine_native();
  machine_name_ = machine->name;
  reach_bytes_ = uint64_t{smalloc_machine_reach_pages(machine)} * kBasePageBytes;
  walk_.near_cycles = o.walk_near_cycles ? o.walk_near_cycles : machine->walk_near_cycles;
  walk_.far_cycles =
      max_of(o.walk_far_cycles ? o.walk_far_cycles : machine->walk_far_cycles, walk_.near_cycles);
  walk_.reach_bytes = reach_bytes_;
  if (!start_region()) {
    // The program needs what there is more than we do.
    switch_off(
        "no address space for the superpage heaps (ulimit -v?); the program's malloc serves");
    return false;
  }
  if (ladder_.wants_to_warn())
    warn_of_fallback();
  g_small.configure(region_, strategy_ == HeapStrategy::kSuperpage, o.demote_percent);
  // Before jemalloc's, which registers its own at its start: prefork handlers run last in, first
  // out, so jemalloc's locks are taken before ours, as in an allocation.
  pthread_atfork([] { g_runtime.before_fork(); }, [] { g_runtime.after_fork(); },
                 [] { g_runtime.after_fork_in_child(); });
  LiveDescription description;
  description.strategy = static_cast<uint32_t>(strategy_);
  description.machine = machine_name_;
  description.thp = thp_name(thp_);
  description.version = SMALLOC_VERSION;
  g_live.start(region_, description, o.stats_live && getauxval(AT_SECURE) == 0);
  g_accounts.start(region_, o.debug || o.abort_on_error ? Tracking::kExact
                            : o.stats_sites             ? Tracking::kSampled
                                                        : Tracking::kBig);
  g_range.start.store(region_.start(), std::memory_order_relaxed);
  g_range.bytes.store(region_.bytes(), std::memory_order_release);
  // Where small objects are charged to their sites, every free() has to pass release().
  if (!g_accounts.tracks_small())
    g_range.main_heap_bytes.store(region_.slice_start(Slice::kClass) - region_.start(),
                                  std::memory_order_release);
  if (o.debug) {
    TextBuffer<256> text;
    text.put("smalloc: debug: heaps started, ").bytes(region_.bytes()).put(" reserved, machine ");
    text.put(machine_name_).put(", reach ").bytes(reach_bytes_).put_char('\n');
    kLinux.write_error(text.data(), text.size());
  }
  seen = HeapState::kStarting;
  return state_.compare_exchange_strong(seen, HeapState::kReady, std::memory_order_acq_rel);
}

void Runtime::before_fork() {
  if (fork_needs_locks()) {
    modules_lock();
    big_.lock_all();
    g_small.lock_all();
    g_accounts.lock();
    forks_locked_ = true; // not before: another thread may fork at the same time
  }
  // A child gets no pages of a pool, but their contents (hugetlb.cpp).
  bool any = counters().pool_units[static_cast<unsigned>(PageKind::kGigantic)].get() ||
             counters().pool_units[static_cast<unsigned>(PageKind::kHugetlb)].get();
  forks_pool_pages_ = any && fork_gate_.prepare();
  if (forks_pool_pages_)
    big_.for_each_pool_run(
        [](char *p, size_t n, void *) { return ForkGate::hold_back(p, n, true); }, nullptr);
}

void Runtime::unlock_after_fork() {
  if (!forks_locked_)
    return;
  forks_locked_ = false;
  g_accounts.unlock();
  g_small.unlock_all();
  big_.unlock_all();
  modules_unlock();
}

void Runtime::after_fork() {
  // With the locks held: what is being sent must stay.
  if (forks_pool_pages_) {
    fork_gate_.enter_parent();
    big_.for_each_pool_run(
        [](char *p, size_t n, void *) { return ForkGate::hold_back(p, n, false); }, nullptr);
    big_.for_each_pool_run(
        [](char *p, size_t n, void *gate) { return static_cast<ForkGate *>(gate)->send(p, n); },
        &fork_gate_);
    fork_gate_.close_both();
  }
  unlock_after_fork();
}

void Runtime::after_fork_in_child() {
  g_live.after_fork_in_child(); // first: what follows counts
  promotion_thread_forget();
  statistics_after_fork_in_child();
  if (forks_pool_pages_) {
    fork_gate_.enter_child();
    bool all = big_.for_each_pool_run(
        [](char *p, size_t n, void *gate) { return static_cast<ForkGate *>(gate)->receive(p, n); },
        &fork_gate_);
    fork_gate_.close_both();
    if (!all) {
      warn("fork: no memory for the child's copy of hugetlb pages, or the parent is gone");
      abort();
    }
    big_.forget_pools();
  }
  unlock_after_fork();
}

void Runtime::charge_big(void *p, SiteAccounts::Account account) {
  if (BigObjects::Handle h = big_.find(p))
    g_accounts.big_born(p, account, h.object->bytes, h.object->superpages);
}

void *Runtime::big_allocate(size_t bytes, size_t alignment, bool zero, bool at_birth, bool whole,
                            smalloc_cell *cell) {
  BigRequest request;
  request.bytes = bytes;
  request.alignment = alignment;
  request.zero = zero;
  request.superpages_at_birth = at_birth;
  request.whole_superpages = whole;
  request.promotable = options_.promote != PromotePolicy::kOff;
  void *p = big_.allocate(request);
  if (!p)
    counters().fallbacks.add();
  else
    charge_big(p, g_accounts.account_of(cell));
  if (SMALLOC_UNLIKELY(ladder_.wants_to_warn()))
    warn_of_fallback();
  return p;
}

void Runtime::warn_of_fallback() {
  TextBuffer<512> text;
  if (ladder_.take_warning(text))
    warn(text.text());
}

void *Runtime::small_allocate(size_t bytes, size_t alignment, bool zero, smalloc_cell *cell) {
  void *p;
  if (SMALLOC_LIKELY(alignment <= 16))
    p = zero ? g_small.allocate_zeroed(bytes) : g_small.allocate(bytes);
  else {
    p = g_small.allocate_aligned(bytes, alignment);
    if (p && zero)
      memset(p, 0, bytes);
  }
  if (SMALLOC_UNLIKELY(!p))
    counters().fallbacks.add();
  else if (SMALLOC_UNLIKELY(g_accounts.tracks_small()))
    g_accounts.small_born(p, bytes, g_accounts.account_of(cell));
  if (SMALLOC_UNLIKELY(g_small.main_pages().due()))
    promote_small(0);
  return p;
}

void Runtime::promote_small(uint64_t credit_ns) {
  if (options_.promote == PromotePolicy::kOff)
    return;
  SmallPages &pages = g_small.main_pages();
  if (credit_ns)
    pages.earn(credit_ns);
  pages.earn_time();
  pages.promote(price_, max_of(kPauseNs, credit_ns), options_.promote == PromotePolicy::kEager);
}

void *Runtime::class_allocate(size_t bytes, size_t alignment, bool zero, smalloc_cell *cell) {
  if (g_small.class_frozen())
    return small_allocate(bytes, alignment, zero, cell);
  void *p = g_small.class_allocate(bytes, alignment, zero);
  if (p && SMALLOC_UNLIKELY(g_accounts.tracks_small()))
    g_accounts.small_born(p, bytes, g_accounts.account_of(cell));
  if (!p)
    counters().fallbacks.add();
  else if (SMALLOC_UNLIKELY(strategy_ == HeapStrategy::kMigrate &&
                            g_small.class_pages().past_reach()))
    migrate_class_heap();
  return p;
}

int Runtime::freeze_class_heap() {
  if (!g_small.class_frozen()) {
    g_small.freeze_class();
    counters().freezes.add();
  }
  return 0;
}

long Runtime::migrate_class_heap() {
  freeze_class_heap();
  if (!region_.thp_allowed() || g_small.class_pages().live_bytes() == 0)
    return 0;
  KeepErrno keep;
  uint64_t began = kLinux.now_ns();
  long units = static_cast<long>(g_small.class_pages().promote_all(price_));
  counters().migration_ns.add(kLinux.now_ns() - began);
  counters().class_units_collapsed.set(static_cast<uint64_t>(units));
  return units;
}

/// Shall our heap serve the small requests of a site from this one on? Asked until it is so; nearly always the answer
/// takes one compare. The process' memory is read at 4, 8, 16 ... MiB requested.
bool Runtime::start_serving(smalloc_cell *cell, uint64_t word, uint64_t requested, size_t bytes) {
  if (strategy_ != HeapStrategy::kSuperpage) {
    uint64_t after = requested + bytes;
    if (after < kSiteWarmupBytes || __builtin_clzll(after) == __builtin_clzll(requested | 1))
      return false;
    bool always = SMALLOC_WORD_DECISION(word) == SMALLOC_DECISION_SUPERPAGE;
    bool undecided = !always && (SMALLOC_WORD_FLAGS(word) & SMALLOC_SITE_UNDECIDED);
    uint64_t needed = always      ? kSiteWarmupBytes
                      : undecided ? reach_bytes_
                                  : SMALLOC_WORD_MIN_PAGES(word) * kBasePageBytes;
    if (resident_bytes(kLinux) < needed)
      return false;
  }
  // How much must be live in the heap before superpages pay.
  SmallPages &pages = SMALLOC_WORD_FLAGS(word) & SMALLOC_SITE_UNDECIDED ? g_small.class_pages()
                                                                        : g_small.main_pages();
  pages.lower_reach(SMALLOC_WORD_DECISION(word) == SMALLOC_DECISION_SUPERPAGE
                        ? 0
                        : SMALLOC_WORD_MIN_PAGES(word) * kBasePageBytes);
  __atomic_fetch_or(&cell->word, uint64_t{SMALLOC_CELL_SERVED} << 8, __ATOMIC_RELAXED);
  return true;
}

/// The thread may take small objects of direct sites without asking for a while, and this site is one from now on.
void Runtime::arm_direct(smalloc_cell *cell, uint64_t word, uint64_t requested) {
  uint64_t taken =
      t_small.direct_armed
          ? static_cast<uint64_t>(kDirectBytes - max_of<int64_t>(t_small.direct_bytes, 0))
          : 0;
  t_small.direct_bytes = kDirectBytes;
  t_small.direct_armed = true;
  if (SMALLOC_WORD_FLAGS(word) & SMALLOC_CELL_DIRECT)
    __atomic_store_n(&cell->requested_bytes, requested + taken, __ATOMIC_RELAXED);
  else
    __atomic_fetch_or(&cell->word, uint64_t{SMALLOC_CELL_DIRECT} << 8, __ATOMIC_RELAXED);
}

void *Runtime::site_allocate(smalloc_cell *cell, size_t bytes, size_t alignment, bool zero) {
  uint64_t word = __atomic_load_n(&cell->word, __ATOMIC_RELAXED);
  unsigned flags = SMALLOC_WORD_FLAGS(word);
  bool always = SMALLOC_WORD_DECISION(word) == SMALLOC_DECISION_SUPERPAGE;
  bool undecided = !always && (flags & SMALLOC_SITE_UNDECIDED);
  uint64_t min_bytes = SMALLOC_WORD_MIN_PAGES(word) * kBasePageBytes;
  if (SMALLOC_WORD_DECISION(word) == SMALLOC_DECISION_BASE && !undecided)
    return nullptr;

  if (SMALLOC_LIKELY(bytes < kSuperpageBytes)) {
    if (undecided) {
      if (strategy_ != HeapStrategy::kMigrate)
        return nullptr;
    } else if (!always && !(flags & SMALLOC_SITE_SMALL) && bytes < min_bytes) {
      return nullptr;
    }
    uint64_t requested = __atomic_load_n(&cell->requested_bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&cell->requested_bytes, requested + bytes, __ATOMIC_RELAXED);
    if (SMALLOC_UNLIKELY(!(flags & SMALLOC_CELL_SERVED)) &&
        !start_serving(cell, word, requested, bytes))
      return nullptr;
    if (SMALLOC_UNLIKELY(!ready()) || SMALLOC_UNLIKELY(!sites_served_) ||
        SMALLOC_UNLIKELY(alignment > kSuperpageBytes))
      return nullptr;
    if (SMALLOC_UNLIKELY(undecided))
      return class_allocate(bytes, alignment, zero, cell);
    void *p = small_allocate(bytes, alignment, zero, cell);
    if (SMALLOC_LIKELY(p) && SMALLOC_LIKELY(!g_accounts.tracks_small()))
      arm_direct(cell, word, requested + bytes);
    return p;
  }

  // A small site's big object counts like its heap's growth; every other one must pay by its own
  // size.
  if (bytes < min_bytes && !((flags & SMALLOC_SITE_SMALL) && g_small.main_pages().past_reach()))
    return nullptr;
  if (!ready() || !sites_served_)
    return nullptr;
  bool known_hot = always && (SMALLOC_WORD_DECIDED_BY(word) != SMALLOC_BY_COMPILER ||
                              strategy_ == HeapStrategy::kSuperpage);
  bool at_birth = known_hot || (!undecided && (flags & SMALLOC_SITE_FULLY_INITIALISED));
  void *p = big_allocate(bytes, alignment, zero, at_birth, false, cell);
  if (p) {
    __atomic_store_n(&cell->requested_bytes,
                     __atomic_load_n(&cell->requested_bytes, __ATOMIC_RELAXED) + bytes,
                     __ATOMIC_RELAXED);
    g_accounts.account_of(cell); // takes the sum over
  }
  return p;
}

bool Runtime::site_accepts(smalloc_cell *cell, size_t bytes) {
  uint64_t word = __atomic_load_n(&cell->word, __ATOMIC_RELAXED);
  unsigned flags = SMALLOC_WORD_FLAGS(word);
  bool always = SMALLOC_WORD_DECISION(word) == SMALLOC_DECISION_SUPERPAGE;
  bool undecided = !always && (flags & SMALLOC_SITE_UNDECIDED);
  if (SMALLOC_WORD_DECISION(word) == SMALLOC_DECISION_BASE && !undecided)
    return false;
  if (bytes < kSuperpageBytes) {
    if (undecided ? strategy_ != HeapStrategy::kMigrate
                  : !always && !(flags & SMALLOC_SITE_SMALL) &&
                        bytes < SMALLOC_WORD_MIN_PAGES(word) * kBasePageBytes)
      return false;
    return strategy_ == HeapStrategy::kSuperpage || (flags & SMALLOC_CELL_SERVED);
  }
  return bytes >= SMALLOC_WORD_MIN_PAGES(word) * kBasePageBytes;
}

void *Runtime::sized_allocate(size_t bytes, size_t alignment, bool zero) {
  if (SMALLOC_UNLIKELY(is_off()))
    return nullptr;
  static std::atomic<uint64_t> requested{0};
  static __thread unsigned calls __attribute__((tls_model("initial-exec")));
  if (__smalloc_v1_pending && ++calls % 1024 == 0)
    promote_by_time();
  // The reach is known once the heaps run; before, whatever may hold a superpage is a reason to look.
  size_t least_big = running() ? max_of<size_t>(kSuperpageBytes, reach_bytes_) : kSuperpageBytes;
  if (options().heap == HeapStrategy::kSplit)
    foreign_below_.store(least_big, std::memory_order_relaxed);
  else if (options().heap == HeapStrategy::kOff)
    foreign_below_.store(SIZE_MAX, std::memory_order_relaxed);
  switch (options().heap) {
  case HeapStrategy::kOff:
    return nullptr;
  case HeapStrategy::kSuperpage:
    if (!ready() || !sites_served_)
      return nullptr;
    return bytes >= kSuperpageBytes || alignment > kSuperpageBytes
               ? big_allocate(max_of<size_t>(bytes, 1), alignment, zero, true)
               : small_allocate(bytes, alignment, zero);
  case HeapStrategy::kMigrate:
    if (bytes < kSuperpageBytes && alignment <= kSuperpageBytes) {
      if (requested.load(std::memory_order_relaxed) < kSiteWarmupBytes) {
        requested.fetch_add(bytes, std::memory_order_relaxed);
        return nullptr;
      }
      if (!ready() || !sites_served_)
        return nullptr;
      g_small.class_pages().lower_reach(reach_bytes_);
      return class_allocate(bytes, alignment, zero);
    }
    [[fallthrough]];
  case HeapStrategy::kSplit:
    break;
  }
  if (bytes < least_big || !ready() || !sites_served_ || bytes < reach_bytes_)
    return nullptr;
  void *p = big_allocate(bytes, alignment, zero, false);
  if (p && options_.promoter_thread && options_.promote != PromotePolicy::kOff)
    promotion_thread_wake();
  return p;
}

void *Runtime::kind_allocate(size_t bytes, size_t alignment, bool zero, int kind) {
  if (!ready())
    return nullptr;
  bool big = bytes >= kSuperpageBytes || alignment > kSuperpageBytes;
  switch (kind) {
  case SMALLOC_BASE: {
    if (!big)
      return class_allocate(bytes, alignment, zero);
    return big_allocate(bytes, alignment, zero, false);
  }
  case SMALLOC_SUPERPAGE:
    return big ? big_allocate(bytes, alignment, zero, true, true)
               : small_allocate(bytes, alignment, zero);
  default:
    return big ? big_allocate(bytes, alignment, zero, true)
               : small_allocate(bytes, alignment, zero);
  }
}

void Runtime::release(void *p) {
  if (SMALLOC_LIKELY(g_range.offset(p) < g_range.main_heap_bytes.load(std::memory_order_relaxed))) {
    g_small.release(p);
    return;
  }
  auto at = reinterpret_cast<uintptr_t>(p);
  if (at < region_.slice_start(Slice::kBigBase)) {
    ObjectNote note;
    if (g_accounts.tracks_small() && !may_end("free", p, note))
      return;
    if (at < region_.slice_start(Slice::kClass))
      g_small.release(p);
    else
      g_small.class_release(p);
    return;
  }
  KeepErrno keep;
  BigObjects::Handle h = big_.find(p);
  if (!h || region_.unit_address(h.slice, h.head) + h.object->offset != p) {
    refuse("free", p);
    return;
  }
  // Before: as soon as its units are free, they may be somebody else's.
  uint64_t bytes = h.object->bytes;
  g_accounts.big_died(p, bytes);
  if (!big_.release(p))
    refuse("free", p);
}

/// A small object is about to be freed or resized. False: there is none, and it has been said.
bool Runtime::may_end(const char *call, const void *p, ObjectNote &note) {
  if (g_accounts.small_died(p, note))
    return true;
  BadPointerReport report;
  report.call = call;
  report.pointer = p;
  report.kind = note.freed ? BadPointer::kFreedBefore : BadPointer::kNoObject;
  report.site_known = note.freed;
  report.account = note.account;
  report.bytes = note.weight;
  report_bad_pointer(report, options_.abort_on_error);
  return false;
}

/// The same for a pointer among the big objects. Silent unless somebody wants to know. False.
bool Runtime::refuse(const char *call, const void *p) {
  if (!options_.abort_on_error && !options_.debug)
    return false;
  BadPointerReport report;
  report.call = call;
  report.pointer = p;
  if (BigObjects::Handle h = big_.find(p)) {
    char *start = region_.unit_address(h.slice, h.head) + h.object->offset;
    report.kind = BadPointer::kInside;
    report.bytes = h.object->bytes;
    report.offset = static_cast<uint64_t>(static_cast<const char *>(p) - start);
    report.site_known = g_accounts.big_account(start, report.account);
  } else if (g_accounts.big_account(p, report.account)) {
    report.kind = BadPointer::kFreedBefore;
    report.site_known = true;
  }
  report_bad_pointer(report, options_.abort_on_error);
  return false;
}

size_t Runtime::usable_bytes(const void *p) {
  if (reinterpret_cast<uintptr_t>(p) < region_.slice_start(Slice::kBigBase))
    return g_small.usable_bytes(p);
  return big_.usable_bytes(p);
}

void *Runtime::resize_big(void *p, size_t bytes) {
  SiteAccounts::Account account = SiteAccounts::kNoSite;
  BigObjects::Handle h = big_.find(p);
  if (!h || !g_accounts.big_account(p, account))
    return big_.resize(p, bytes);
  // Before: the old units may be somebody else's as soon as the pages have moved.
  g_accounts.big_died(p, h.object->bytes);
  void *r = big_.resize(p, bytes);
  charge_big(r ? r : p, account);
  return r;
}

void *Runtime::resize(void *p, size_t bytes) {
  int saved = errno;
  if (bytes > PTRDIFF_MAX) {
    errno = ENOMEM;
    return nullptr;
  }
  Slice slice = region_.slice_of(p);
  bool was_big = slice == Slice::kBigBase || slice == Slice::kBigSuper;
  void *r = nullptr;
  if (was_big) {
    if (bytes >= kBackToMallocBytes)
      r = resize_big(p, bytes);
  } else {
    ObjectNote note;
    bool tracked = g_accounts.tracks_small();
    if (tracked && !may_end("realloc", p, note)) {
      errno = ENOMEM;
      return nullptr;
    }
    if (bytes < kSuperpageBytes)
      r = slice == Slice::kClass ? g_small.class_resize(p, bytes) : g_small.resize(p, bytes);
    if (tracked && r)
      g_accounts.small_born(r, bytes, note.account);
    else if (tracked)
      g_accounts.small_kept(p, note);
  }
  if (r) {
    errno = saved;
    return r;
  }
  if (bytes >= kSuperpageBytes)
    r = big_allocate(bytes, 16, false, slice == Slice::kBigSuper);
  else if (strategy_ == HeapStrategy::kSuperpage ||
           (slice == Slice::kClass && g_small.class_frozen()))
    r = small_allocate(bytes, 16, false);
  if (!r)
    r = g_next.malloc(bytes);
  if (!r) {
    // Keeping the object where it is serves a shrinking realloc, too.
    if (was_big && bytes < kBackToMallocBytes && (r = resize_big(p, bytes)))
      errno = saved;
    else
      errno = ENOMEM;
    return r;
  }
  memcpy(r, p, min_of(usable_bytes(p), bytes));
  release(p);
  errno = saved;
  return r;
}

void Runtime::promote_big(const BigObjects::Handle &h, uint64_t credit_ns, uint64_t pause_ns) {
  big_.promote(h, price_, credit_ns, pause_ns, options_.promote == PromotePolicy::kEager);
  if (BigObjects::Handle loser = big_.last_demoted())
    g_accounts.big_promoted(region_.unit_address(loser.slice, loser.head),
                            loser.object->superpages);
  g_accounts.big_promoted(region_.unit_address(h.slice, h.head),
                          h.object->units ? h.object->superpages : 0);
}

void Runtime::touching(const void *p, uint64_t saved_misses) {
  if (!g_range.contains(p))
    return;
  TouchThread &t = t_touch;
  t.misses += saved_misses ? saved_misses : 1;
  if (saved_misses < kSmallTouch && ++t.calls < kTouchesPerLook)
    return;
  uint64_t misses = t.misses;
  t.misses = 0;
  t.calls = 0;
  if (!running() || options_.promote == PromotePolicy::kOff)
    return;
  KeepErrno keep;
  Slice slice = region_.slice_of(p);
  if (slice == Slice::kBigBase || slice == Slice::kBigSuper) {
    bool short_of_superpages = region_.short_of_superpages();
    if (slice == Slice::kBigSuper && !short_of_superpages)
      return;
    BigObjects::Handle h = big_.find(p);
    if (!h)
      return;
    uint64_t credit = walk_.nanoseconds(misses, h.object->bytes) / kOverlappedWalks;
    if (h.object->pending)
      promote_big(h, credit, max_of(kPauseNs, credit));
    else if (short_of_superpages)
      big_.note_worth(h, credit);
  } else if ((slice == Slice::kSmallBase || slice == Slice::kSmallSuper) &&
             g_small.main_pages().pending()) {
    promote_small(walk_.nanoseconds(misses, g_small.main_pages().live_bytes()));
  }
}

void Runtime::promote_by_time() {
  if (!running() || options_.promote == PromotePolicy::kOff)
    return;
  KeepErrno keep;
  uint64_t now = kLinux.now_ns();
  uint64_t from = time_credit_from_ns_.load(std::memory_order_relaxed);
  bool eager = options_.promote == PromotePolicy::kEager;
  uint64_t credit = from ? (now - from) / 100 : 0;
  if (from && credit < static_cast<uint64_t>(price_.ns()) && !eager)
    return;
  if (!time_credit_from_ns_.compare_exchange_strong(from, now) || from == 0)
    return;
  if (BigObjects::Handle h = big_.next_pending(pending_cursor_))
    promote_big(h, credit, kPauseNs);
  else if (g_small.main_pages().pending())
    promote_small(credit);
}

size_t Runtime::trim() {
  if (!running())
    return 0;
  uint64_t before = counters().pages_released.get();
  big_.trim();
  g_small.trim();
  return (counters().pages_released.get() - before) * kBasePageBytes;
}

} // namespace smalloc
