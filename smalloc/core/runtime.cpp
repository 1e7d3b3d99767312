// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// runtime.cpp starts the heaps. It reads the options, tests which free() the process uses, has the
// address range reserved (runtime_region.cpp) and configures the heaps in it.
#include "smalloc/core/runtime.h"
#include "smalloc/agent/agent.h"
#include "smalloc/base/file_name.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/include/smalloc/machine.h"
#include "smalloc/jemalloc/thread_cache.h"
#include "smalloc/os/own_stack.h"
#include "smalloc/pages/data_limit.h"
#include "smalloc/process/loaded_objects.h"
#include "smalloc/process/own_image.h"
#include "smalloc/process/own_sandbox.h"
#include "smalloc/process/process_identity.h"
#include "smalloc/sites/free_owner.h"
#include "smalloc/sites/modules.h"
#include "smalloc/sites/object_placement.h"
#include "smalloc/small/node_heaps.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

SMALLOC_EXPORT unsigned __smalloc_v1_pending; // declared in site.h
unsigned __smalloc_v1_pending = 0;

// Defined in libsmalloc_feedback.so, linked or preloaded (runtime/collector/interpose.cpp).
extern "C" void __smalloc_v1_collector() __attribute__((weak));

namespace smalloc {

// Constant initialisation: images register before libsmalloc's constructors run.
constinit Range g_range;
constinit Runtime g_runtime;
constinit Directives g_directives;
constinit Agent g_agent;
constinit std::atomic<size_t> KnownPages::covered_bytes_{0};
constinit std::atomic<uintptr_t> KnownPages::elements_of_0_[kParts];
constinit MallocEntry g_malloc_entry;

namespace {

void print_warning(Text line) { kLinux.write_error(line.data, line.size); }

/// Warns of a setting that is not understood. Only the first process of a tree warns: its children
/// with the same setting and libsmalloc would repeat the warning.
void print_conf_warning(Text line) {
  static const bool said = parent_has_seen("SMALLOC_CONF", getenv("SMALLOC_CONF"), "libsmalloc");
  if (!said)
    print_warning(line);
}

/// True if valgrind replaces free(). Memcheck and similar tools redirect free() inside the process,
/// invisible to symbol lookup. Tools that only count (callgrind, cachegrind) preload only
/// valgrind's core.
bool valgrind_replaces_free(const char *preloaded) {
  while (preloaded && (preloaded = strstr(preloaded, "vgpreload_"))) {
    preloaded += strlen("vgpreload_");
    if (strncmp(preloaded, "core", 4) != 0)
      return true;
  }
  return false;
}

/// A program that imports these interfaces of other allocators sooner or later passes them
/// libsmalloc's pointers.
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
      parse_options(Text(conf), privileged, options_, print_conf_warning);
    if (getauxval(AT_PAGESZ) != kBasePageBytes)
      refuse_base_pages(privileged);
    if (options_.trace && !__smalloc_v1_collector)
      print_warning("smalloc: warning: SMALLOC_CONF: 'trace' needs libsmalloc_feedback.so (smalloc "
                    "record loads it), ignored\n");
    if (options_.trace && __smalloc_v1_collector && *options_.directives)
      print_warning("smalloc: warning: SMALLOC_CONF: 'directives' have no effect while 'trace' "
                    "records\n");
    if (*options_.directives)
      load_directives();
    ObjectPlacement::set_sysfs(options_.sysfs);
    if (options_.numa.mode_given && options_.numa.mode == numa::NumaMode::kOff)
      g_placement.switch_off();
    if (g_directives.any() || options_.validate)
      start_agent();
    strategy_ = options_.heap;
    t_small.early_left = 0; // so far the requests were served as under heap:auto
    options_read_.store(true, std::memory_order_release);
  }
  return options_;
}

void Runtime::load_directives() {
  char name[512];
  expand_file_name(options_.directives, name, sizeof name);
  const char *why =
      g_directives.load(name, [](const Directive &d, size_t most) { g_placement.take(d, most); });
  g_placement.all_taken();
  if (why) {
    TextBuffer<512> line;
    line.put("smalloc: warning: directives (").put(name).put("): ").put(why);
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
  // Takes effect at once for malloc and operator new, even in threads with a budget left. A direct
  // site may still be served until its thread's budget is used up (may_be_direct()).
  foreign_below_.store(SIZE_MAX, std::memory_order_relaxed);
  g_malloc_entry.cached_below.store(0, std::memory_order_relaxed);
  g_malloc_entry.larger_cached_below.store(0, std::memory_order_relaxed);
  g_malloc_entry.foreign_below.store(SIZE_MAX, std::memory_order_relaxed);
  g_bitmap_heap.close();
  if (why && !warned_.exchange(true))
    warn(Text(why));
}

bool Range::went_back(const void *p) { return g_runtime.region().went_back(p); }

bool Runtime::start() {
  HeapState seen = HeapState::kUninitialised;
  if (state_.load(std::memory_order_acquire) == HeapState::kOff)
    return false;
  // Another thread starts, or this one further up the stack: the program's malloc serves.
  if (!state_.compare_exchange_strong(seen, HeapState::kStarting, std::memory_order_acq_rel))
    return seen == HeapState::kReady;
  KeepErrno keep;
  struct Starting {
    Starting() { t_small.starting = true; }
    ~Starting() { t_small.starting = false; }
  } starting;
  // start_heaps() loads a library (libhugetlbfs) and reads files; the caller may be a coroutine
  // with a small stack.
  bool started = false;
  on_own_stack([&] { started = start_heaps(); });
  return started;
}

/// True if no setting and no other allocator forbids the heaps. Otherwise switches them off.
bool Runtime::may_start() {
  if (options_.heap_given && options_.heap == HeapStrategy::kOff) {
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
  return true;
}

/// Sets the costs of page walks, by the machine's profile.
void Runtime::set_walk_costs() {
  const smalloc_machine *machine = smalloc_machine_native();
  machine_name_ = machine->name;
  reach_bytes_ = uint64_t{smalloc_machine_reach_pages(machine)} * kBasePageBytes;
  walk_.near_cycles = machine->walk_near_cycles;
  walk_.far_cycles = max_of(machine->walk_far_cycles, machine->walk_near_cycles);
  walk_.reach_bytes = reach_bytes_;
}

/// Configures the small heaps. They start at their first object.
void Runtime::configure_small_heaps() {
  const Options &o = options_;
  SmallHeap::Config small;
  small.superpages_at_first_touch = strategy_ == HeapStrategy::kSuperpage;
  small.serves_process = strategy_ == HeapStrategy::kAuto;
  small.first_touch = &first_touch_cost_;
  small.idle_percent = o.demote_percent;
  small.cache_bytes = o.cache_bytes;
  small.drop_file_pages = !o.text_on_superpages;
  small.make_room = [](uint64_t worth, unsigned wanted) {
    return g_runtime.big_.make_room_for(worth, wanted);
  };
  small.note_growth = [](uint64_t bytes) { g_runtime.make_room_beside_heap(bytes); };
  small.may_keep = [] { return g_runtime.may_keep(); };
  g_small.configure(region_, small);
  NodeHeaps::Config by_node;
  by_node.topology = [] { return g_placement.topology(); };
  by_node.sysfs = o.sysfs;
  by_node.pages.idle_percent = o.demote_percent;
  by_node.pages.make_room = small.make_room;
  g_node_heaps.configure(region_, by_node);
}

/// Starts the statistics: the live page, and the accounts of the sites.
void Runtime::start_accounts() {
  const Options &o = options_;
  LiveDescription description;
  description.process = process_;
  description.strategy = static_cast<uint32_t>(strategy_);
  description.machine = machine_name_;
  description.thp = thp_name(thp_);
  description.version = SMALLOC_VERSION;
  if (filters_itself()) {
    options_.stats_live = false;
    options_.helper_thread = false;
  }
  g_live.start(region_, description, o.stats_live && getauxval(AT_SECURE) == 0);
  show_agent();
  g_accounts.start(region_, o.debug || o.abort_on_error ? Tracking::kExact
                            : o.stats_sites             ? Tracking::kSampled
                                                        : Tracking::kBig);
}

/// Publishes the heaps' range: from now on free() recognises their objects.
void Runtime::publish_range() {
  g_range.start.store(region_.start(), std::memory_order_relaxed);
  g_range.bytes.store(region_.bytes(), std::memory_order_release);
  // If small objects are charged to their sites, every free() has to call release().
  const size_t main_bytes = region_.slice_start(Slice::kClass) - region_.start();
  if (!g_accounts.tracks_small())
    g_range.main_heap_bytes.store(main_bytes, std::memory_order_release);
  // Not with these settings: no account has the bitmap heap's objects, so libsmalloc could not
  // detect wrong frees of them.
  if (strategy_ == HeapStrategy::kAuto && !options_.debug && !options_.abort_on_error)
    g_bitmap_heap.start(region_, main_bytes);
}

bool Runtime::start_heaps() {
  const Options &o = options();
  if (!may_start())
    return false;
  set_walk_costs();
  // Report a limit only to a process that requested these heaps.
  const bool asked = o.heap_given || o.debug || modules_seen();
  if (data_limit() < kLeastDataLimit) {
    switch_off(asked ? "no room for the superpage heaps (ulimit -d); the program's malloc serves"
                     : nullptr);
    return false;
  }
  if (!start_region()) {
    // The program needs the rest of its address space more.
    switch_off(asked ? no_address_space() : nullptr);
    return false;
  }
  if (page_fallback_.wants_to_warn())
    warn_of_fallback();
  configure_small_heaps();
  install_fork_handlers();
  start_accounts();
  publish_range();
  if (o.debug) {
    TextBuffer<256> text;
    text.put("smalloc: debug: heaps started, ").bytes(region_.bytes()).put(" reserved, machine ");
    text.put(machine_name_).put(", reach ").bytes(reach_bytes_).put_char('\n');
    kLinux.write_error(text.data(), text.size());
  }
  if (!o.text_on_superpages)
    drop_own_file_pages();
  HeapState seen = HeapState::kStarting;
  return state_.compare_exchange_strong(seen, HeapState::kReady, std::memory_order_acq_rel);
}

} // namespace smalloc
