// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// small_heap.cpp keeps the private jemalloc inside libsmalloc's address range. The arenas allocate
// through extent hooks. jemalloc's own mappings go through jesys_mmap, which returns only memory of
// this range. These are its metadata and arena 0, which serves threads that never allocated from
// libsmalloc and late destructors of thread-local objects.
#include "smalloc/small/small_heap.h"
#include "smalloc/base/clock.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/base/sleep.h"
#include "smalloc/jemalloc/thread_cache.h"
#include "smalloc/os/own_stack.h"
#include "smalloc/pages/data_limit.h"
#include "smalloc/process/fork_locks.h"
#include "smalloc/process/own_image.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// oversize_threshold: unless it is 0, large objects get an arena of their own.
// retain: extents stay in libsmalloc's slices for good.
// dirty_decay_ms: 1 s. glibc's heap keeps unused pages longer, but its pages are not superpages.
// dss:disabled: brk memory would lie outside the range.
// trust_madvise: without it jemalloc tries MADV_DONTNEED on a page of its own. It writes to that
// page if the call had no effect.
// slab_sizes: jemalloc's 136 bytes of metadata a slab would be 3.3 % of a one-page slab. That
// exceeds the cost of glibc's header where the header fills the rounding (24, 40, 56 ... bytes). A
// single page of such objects hardly ever becomes empty. Powers of two would lose as much: their
// slabs have one page (two for 2048), while the classes between have three to seven. Pages of
// 64 KiB (arm64) are larger than any of these slabs. By default the classes between would have up
// to seven, and a heap of 64 MiB of mixed objects a sixth more pages. At most 6 % of a slab is left
// over with this setting.
// lg_extent_max_active_fit: slabs of 16 KiB and more are joined with unused neighbours at once. By
// default jemalloc does not take a slab from an unused extent of more than 64 times its size. A
// list that is built and freed repeatedly then grew by a generation each time, until decay caught
// up.
// tcache_gc_incr_bytes: a thread's cache returns its unused objects of one class to their slabs
// after each MiB. By default that is 64 KiB, which a program with objects of 16 KiB requests in
// four calls: it then spent half of its time on that (benchmarks/throughput, mixed).
#define SMALLOC_CONF_BEFORE_SLABS                                                                  \
  "narenas:1,retain:true,oversize_threshold:0,dss:disabled,thp:default,"                           \
  "metadata_thp:disabled,dirty_decay_ms:1000,muzzy_decay_ms:0,background_thread:false,"            \
  "abort_conf:false,percpu_arena:disabled,hpa:false,trust_madvise:true,"                           \
  "lg_extent_max_active_fit:20,tcache_gc_incr_bytes:1048576,slab_sizes:"
const char *jepriv_malloc_conf =
    smalloc::kJePageShift == 12 ? SMALLOC_CONF_BEFORE_SLABS
        "1-128:8|256-256:4|512-512:4|1024-1024:4|2048-2048:4|4096-4096:2"
                                : SMALLOC_CONF_BEFORE_SLABS
        "1-4096:1|5120-7168:2|8192-8192:1|10240-14336:2";

namespace smalloc {

constinit SmallHeap g_small;
__thread SmallThread t_small;

namespace {

Region *g_region; // what the hooks and jesys_mmap allocate from
std::atomic<unsigned> g_heaps_sharing{1};
pthread_key_t g_class_cache_key;

template <SmallPages &(SmallHeap::*pages)()> struct Hooks {
  static void *alloc(je_extent_hooks *, void *at, size_t bytes, size_t alignment, bool *zero,
                     bool *commit, unsigned) {
    if (at)
      return nullptr;
    *zero = true;
    *commit = false; // so that each use calls commit(), which counts pages
    return (g_small.*pages)().grow(bytes, alignment, g_heaps_sharing.load());
  }
  static bool dalloc(je_extent_hooks *, void *, size_t, bool, unsigned) { return true; }
  static bool commit(je_extent_hooks *, void *p, size_t, size_t offset, size_t bytes, unsigned) {
    return !(g_small.*pages)().commit(static_cast<char *>(p) + offset, bytes);
  }
  static bool decommit(je_extent_hooks *, void *p, size_t, size_t offset, size_t bytes, unsigned) {
    (g_small.*pages)().decommit(static_cast<char *>(p) + offset, bytes);
    return false;
  }
  static bool split(je_extent_hooks *, void *, size_t, size_t, size_t, bool, unsigned) {
    return false;
  }
  static bool merge(je_extent_hooks *, void *, size_t, void *, size_t, bool, unsigned) {
    return false;
  }
  static je_extent_hooks table;
};
template <SmallPages &(SmallHeap::*pages)()>
je_extent_hooks Hooks<pages>::table = {alloc,   dalloc,  nullptr, commit, decommit,
                                       nullptr, nullptr, split,   merge};

void return_class_cache(void *value) {
  auto cache = static_cast<unsigned>(reinterpret_cast<uintptr_t>(value) - 1);
  t_small.has_class_cache = false;
  t_small.class_cache_refused = true; // later destructors of this thread use no cache
  jepriv_mallctl("tcache.destroy", nullptr, nullptr, &cache, sizeof cache);
}

} // namespace

void SmallHeap::configure(Region &region, const Config &config) {
  region_ = &region;
  config_ = config;
}

void SmallHeap::fork_begins() {
  if (ready())
    return;
  t_small.forks_unaware = true;
  forks_unaware_.fetch_add(1);
}

void SmallHeap::fork_ended(bool in_child) {
  if (in_child)
    forks_unaware_.store(0);
  else if (t_small.forks_unaware)
    forks_unaware_.fetch_sub(1);
  t_small.forks_unaware = false;
}

/// Waits until no fork runs that does not know jemalloc's handlers. The wait is bounded: the
/// forking thread may wait for a lock that this thread holds.
void SmallHeap::wait_for_forks() const {
  constexpr unsigned kMostWaits = 4000;
  for (unsigned i = 0; forks_unaware_.load() != 0 && i < kMostWaits; i++)
    sleep_ns(50000);
}

bool SmallHeap::start() {
  if (forks_unaware_.load() != 0)
    return false; // the next call tries again
  HeapState seen = HeapState::kUninitialised;
  if (!state_.compare_exchange_strong(seen, HeapState::kStarting, std::memory_order_acq_rel))
    return seen == HeapState::kReady;
  KeepErrno keep;
  struct Starting {
    Starting() { t_small.starting = true; }
    ~Starting() { t_small.starting = false; }
  } starting;
  g_region = region_;
  if (!take_table_back()) {
    state_.store(HeapState::kOff, std::memory_order_release);
    return false;
  }
  SmallPages::Config main_config;
  main_config.has_super = true;
  main_config.superpages_at_first_touch = config_.superpages_at_first_touch;
  if (config_.serves_process) {
    main_config.at_first_touch_bytes = SmallPages::kAtFirstTouchBytesOfProcess;
    main_config.probes_double = true;
    main_config.dense_pages = kPagesPerUnit - kPagesPerUnit / 16;
  }
  main_config.first_touch = config_.first_touch;
  main_config.idle_percent = config_.idle_percent;
  main_config.make_room = config_.make_room;
  main_config.note_growth = config_.note_growth;
  main_config.cpu_ns = clock_ns<CLOCK_PROCESS_CPUTIME_ID>;
  main_config.thread_cpu_ns = clock_ns<CLOCK_THREAD_CPUTIME_ID>;
  bool ok = main_.init(*region_, main_config);
  if (ok) {
    cpu_set_t cpus;
    unsigned n = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
    arena_count_ = min_of(max_of(n, 1u), kMostArenas);
    // The first call starts jemalloc, which registers its fork handlers after libsmalloc's
    // (runtime_fork.cpp).
    arena_state_[0].store(HeapState::kStarting);
    // An object of 16 KiB and more would have a page more, so that its start can be staggered. On
    // superpages that page is resident: up to a fifth of these objects' memory. jemalloc 5.3.0 does
    // not take this option from malloc_conf (findings/jemalloc_cache_oblivious.sh).
    jepriv_opt_cache_oblivious = false;
    intercept_events();
    on_own_stack([&] { ok = create_arena(arenas_[0], &Hooks<&SmallHeap::main_pages>::table); });
    // jemalloc aligns its class of 8 bytes to 8 only. Compilers and programs rely on 16 from malloc
    // and operator new for every size. jemalloc has just filled this table, so the change lasts.
    je_sz_size2index_tab[0] = je_sz_size2index_tab[1] = je_sz_size2index_tab[2];
    arena_state_[0].store(ok ? HeapState::kReady : HeapState::kOff);
  }
  wait_for_forks();
  state_.store(ok ? HeapState::kReady : HeapState::kOff, std::memory_order_release);
  return ok;
}

bool SmallHeap::make_arena(unsigned &arena, je_extent_hooks *hooks) {
  je_arena_config config = {hooks, false}; // metadata stays out of superpages
  size_t size = sizeof arena;
  if (jepriv_mallctl("experimental.arenas_create_ext", &arena, &size, &config, sizeof config) != 0)
    return false;
  // Grow by one superpage at a time: jemalloc's geometric steps would commit a quarter more than is
  // used. (jemalloc's arena 0 cannot serve as the first arena: 2 MiB of it are mapped before hooks
  // can be set.)
  set_growth(arena, kSuperpageBytes);
  return true;
}

void SmallHeap::set_growth(unsigned arena, size_t bytes) {
  TextBuffer<64> name;
  name.put("arena.").number(arena).put(".retain_grow_limit").put_char('\0');
  jepriv_mallctl(name.data(), nullptr, nullptr, &bytes, sizeof bytes);
}

/// Makes large arenas grow by kLongGrowthBytes at a time. jemalloc makes an object of more than
/// half a superpage a page longer. If the arena grows by 2 MiB, the rest of that unit stays unused.
/// jemalloc would reach the new limit in steps that are no multiple of a superpage. One large
/// object, freed at once, makes it a single step.
void SmallHeap::grow_further() {
  growth_due_.store(false, std::memory_order_relaxed);
  KeepErrno keep;
  for (unsigned k = 0; k < arena_count_; k++) {
    if (arena_state_[k].load(std::memory_order_acquire) != HeapState::kReady)
      continue;
    set_growth(arenas_[k], kLongGrowthBytes);
    if (void *p =
            jepriv_mallocx(kLongGrowthBytes - kSuperpageBytes, je_arena(arenas_[k]) | kJeNoTcache))
      jepriv_dallocx(p, kJeNoTcache);
  }
}

bool SmallHeap::create_arena(unsigned &arena, je_extent_hooks *hooks) {
  if (!make_arena(arena, hooks))
    return false;
  g_heaps_sharing.store(arenas_in_use_.fetch_add(1) + 1);
  return true;
}

bool SmallHeap::bind_thread() {
  if (!ready() && !start())
    return false;
  KeepErrno keep;
  unsigned k = threads_.fetch_add(1, std::memory_order_relaxed) % arena_count_;
  HeapState seen = HeapState::kUninitialised;
  if (arena_state_[k].compare_exchange_strong(seen, HeapState::kStarting)) {
    bool ok = create_arena(arenas_[k], &Hooks<&SmallHeap::main_pages>::table);
    arena_state_[k].store(ok ? HeapState::kReady : HeapState::kOff, std::memory_order_release);
  }
  // Another thread is creating the arena.
  if (arena_state_[k].load(std::memory_order_acquire) != HeapState::kReady)
    k = 0;
  unsigned arena = arenas_[k];
  if (jepriv_mallctl("thread.arena", nullptr, nullptr, &arena, sizeof arena) != 0)
    return false;
  t_small.bound = true;
  // The start runs through jemalloc's control interface, which is rarely used afterwards.
  if (k == 0 && config_.drop_file_pages && !file_pages_dropped_.exchange(true))
    drop_own_file_pages();
  return true;
}

// `bound` may be true in a thread whose jemalloc state is gone already (late destructors). jemalloc
// then uses arena 0, which is in libsmalloc's range too.
void *SmallHeap::allocate(size_t bytes) {
  if (SMALLOC_UNLIKELY(!t_small.bound) && !bind_thread())
    return nullptr;
  return SMALLOC_UNLIKELY(packing_.any()) ? allocate_packed(bytes, false) : jepriv_malloc(bytes);
}

void *SmallHeap::allocate_zeroed(size_t bytes) {
  if (SMALLOC_UNLIKELY(!t_small.bound) && !bind_thread())
    return nullptr;
  return SMALLOC_UNLIKELY(packing_.any()) ? allocate_packed(bytes, true) : jepriv_calloc(1, bytes);
}

void *SmallHeap::allocate_aligned(size_t bytes, size_t alignment) {
  if (SMALLOC_UNLIKELY(!t_small.bound) && !bind_thread())
    return nullptr;
  return jepriv_mallocx(bytes ? bytes : 1, je_align(alignment));
}

bool SmallHeap::class_flags(SmallThread &thread, int &flags, bool for_release) {
  unsigned generation = class_generation_.load(std::memory_order_relaxed);
  if (thread.has_class_cache && thread.class_generation != generation) {
    // The class heap was frozen meanwhile. Flush the cache, so that empty units can be released.
    jepriv_mallctl("tcache.flush", nullptr, nullptr, &thread.class_cache,
                   sizeof thread.class_cache);
    thread.class_generation = generation;
  }
  if (!thread.has_class_cache && !thread.class_cache_refused && !for_release) {
    unsigned cache;
    size_t size = sizeof cache;
    // Refuse a nested creation: for the 33rd key of a process and later ones, pthread_setspecific
    // calls calloc, which may be libsmalloc's.
    thread.class_cache_refused = true;
    if (jepriv_mallctl("tcache.create", &cache, &size, nullptr, 0) == 0) {
      if (pthread_setspecific(g_class_cache_key, reinterpret_cast<void *>(uintptr_t{cache} + 1)) ==
          0) {
        thread.has_class_cache = true;
        thread.class_cache_refused = false;
        thread.class_cache = cache;
        thread.class_generation = generation;
      } else {
        jepriv_mallctl("tcache.destroy", nullptr, nullptr, &cache, sizeof cache);
      }
    }
  }
  flags = thread.has_class_cache && !class_frozen() ? je_tcache(thread.class_cache) : kJeNoTcache;
  return true;
}

void *SmallHeap::class_allocate(size_t bytes, size_t alignment, bool zero) {
  if (!ready() && !start())
    return nullptr;
  KeepErrno keep;
  HeapState seen = class_state_.load(std::memory_order_acquire);
  if (SMALLOC_UNLIKELY(seen != HeapState::kReady)) {
    seen = HeapState::kUninitialised;
    if (!class_state_.compare_exchange_strong(seen, HeapState::kStarting))
      return nullptr;
    SmallPages::Config config;
    config.base = Slice::kClass;
    config.collapse_as_it_grows = false;
    config.idle_percent = config_.idle_percent;
    bool ok = class_.init(*region_, config) &&
              pthread_key_create(&g_class_cache_key, return_class_cache) == 0 &&
              create_arena(class_arena_, &Hooks<&SmallHeap::class_pages>::table);
    class_state_.store(ok ? HeapState::kReady : HeapState::kOff, std::memory_order_release);
    if (!ok)
      return nullptr;
  }
  int flags;
  class_flags(t_small, flags, false);
  return jepriv_mallocx(bytes ? bytes : 1, flags | je_arena(class_arena_) | je_align(alignment) |
                                               (zero ? kJeZero : 0));
}

void SmallHeap::class_release(void *p) {
  int flags;
  class_flags(t_small, flags, true);
  jepriv_dallocx(p, flags);
}

void *SmallHeap::class_resize(void *p, size_t bytes) {
  if (class_frozen())
    return jepriv_xallocx(p, bytes, 0, 0) >= bytes ? p : nullptr;
  KeepErrno keep;
  int flags;
  class_flags(t_small, flags, false);
  return jepriv_rallocx(p, bytes, flags | je_arena(class_arena_));
}

void SmallHeap::freeze_class() {
  class_frozen_.store(true, std::memory_order_relaxed);
  class_generation_.fetch_add(1, std::memory_order_relaxed);
}

void SmallHeap::trim() {
  if (!ready())
    return;
  KeepErrno keep;
  jepriv_mallctl("thread.tcache.flush", nullptr, nullptr, nullptr, 0);
  purge();
  main_.purge_again();
  if (class_state_.load(std::memory_order_acquire) == HeapState::kReady)
    class_.purge_again();
}

void SmallHeap::statistics(uint64_t &live_bytes, uint64_t &objects) {
  live_bytes = objects = 0;
  if (!ready())
    return;
  KeepErrno keep;
  uint64_t epoch = 1, n = 0;
  size_t size = sizeof epoch, bytes = 0;
  jepriv_mallctl("epoch", &epoch, &size, &epoch, sizeof epoch);
  size = sizeof bytes;
  if (jepriv_mallctl("stats.allocated", &bytes, &size, nullptr, 0) == 0)
    live_bytes = bytes;
  // jemalloc's internal memory (thread caches) is in no object and not in the pages of objects.
  if (jepriv_mallctl("stats.arenas.4096.internal", &bytes, &size, nullptr, 0) == 0)
    live_bytes -= min_of<uint64_t>(bytes, live_bytes);
  size = sizeof n;
  if (jepriv_mallctl("stats.arenas.4096.small.nmalloc", &n, &size, nullptr, 0) == 0)
    objects += n;
  if (jepriv_mallctl("stats.arenas.4096.large.nmalloc", &n, &size, nullptr, 0) == 0)
    objects += n;
}

void SmallHeap::before_fork_locks() {
  KeepErrno keep;
  if (t_small.has_class_cache)
    jepriv_mallctl("tcache.flush", nullptr, nullptr, &t_small.class_cache,
                   sizeof t_small.class_cache);
}

void SmallHeap::lock_all() {
  main_.lock_all();
  class_.lock_all();
}
void SmallHeap::unlock_all() {
  class_.unlock_all();
  main_.unlock_all();
}

} // namespace smalloc

// The private jemalloc's replacements for system calls and libc functions (private_jemalloc.sh
// renames its references).
extern "C" {
void *jesys_mmap(void *at, size_t bytes, int, int, int, off_t) {
  using namespace smalloc;
  char *p = at == nullptr && g_region
                ? g_region->grow(Slice::kMeta, align_up(bytes, kBasePageBytes),
                                 bytes >= kSuperpageBytes ? kSuperpageBytes : kBasePageBytes)
                : nullptr;
  return p ? p : MAP_FAILED;
}
int jesys_munmap(void *, size_t) {
  return 0;
} // the slice is never reused; only alignment probes call this
int jesys_madvise(void *start, size_t bytes, int advice) {
  if (advice != MADV_DONTNEED)
    return -1;
  int error = smalloc::g_region->os().purge(start, bytes);
  return error ? -1 : 0;
}
int jesys_pthread_atfork(void (*prepare)(), void (*parent)(), void (*child)()) {
  return smalloc::lock_at_fork(prepare, parent, child);
}
int jesys_mprotect(void *, size_t, int) { return 0; }
void *jesys_sbrk(intptr_t) { return reinterpret_cast<void *>(-1); }
char *jesys_secure_getenv(const char *) { return nullptr; }
ssize_t jesys_readlink(const char *, char *, size_t) { return -1; }
/// jemalloc opens its settings files by SYS_open, which hardly any program uses today. A sandbox
/// may forbid it, so call SYS_openat.
long jesys_syscall(long number, long a, long b, long c) {
#ifdef SYS_open
  if (number == SYS_open)
    return syscall(SYS_openat, AT_FDCWD, a, b, c);
#endif
  return syscall(number, a, b, c);
}
// Stubs: profiling is compiled in and never on.
double jesys_log(double) { return 0; }
double jesys_exp(double) { return 1; }
double jesys_round(double x) { return x; }
int jesys__Unwind_Backtrace(void *, void *) { return 0; }
unsigned long jesys__Unwind_GetIP(void *) { return 0; }
// Hides jemalloc's ENOMEM from the program: another allocator serves the request.
int *jesys___errno_location() {
  static __thread int unseen __attribute__((tls_model("initial-exec")));
  return &unseen;
}
}
