// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// live.cpp migrates the pages of a process: with SMALLOC_CONF=numa:migrate, on a machine of several
// nodes, never with raised privileges. It runs from the moment this library is loaded (by
// libsmalloc, or preloaded) until the program ends. Two threads do it, with all signals blocked.
// The profiler takes samples five times a second, more often when they come faster. The migrator
// wakes at the end of each interval. A forked child has neither: it keeps its pages where they are,
// until it executes a program.
#include "runtime/collector/collector.h"
#include "runtime/collector/image_names.h"
#include "runtime/numa/live/migrator.h"
#include "runtime/numa/live/pages.h"
#include "smalloc/base/clock.h"
#include "smalloc/base/file_name.h"
#include "smalloc/files/start_stderr.h"

#include <dlfcn.h>
#include <errno.h>
#include <new>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

namespace smalloc::numa {
namespace {

constexpr uint64_t kMillisecond = 1000000;
/// Rest of the profiler. A ring of the clock source holds the samples of 390 ms.
constexpr uint64_t kTickNs = 200 * kMillisecond;
/// Interval while a placement waits for its pages to appear.
constexpr uint64_t kPlaceNs = 50 * kMillisecond;
/// Longest wait of an ending program for the batch that is under way.
constexpr time_t kMostWaitSeconds = 2;

/// Lets a thread sleep until a moment or until the process ends.
class Sleeper {
public:
  Sleeper() {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&wake_, &attributes);
    pthread_condattr_destroy(&attributes);
  }
  /// Sleeps until `ns`. False: the process ends.
  bool sleep_until(uint64_t ns) {
    const timespec until = {static_cast<time_t>(ns / 1000000000),
                            static_cast<long>(ns % 1000000000)};
    pthread_mutex_lock(&lock_);
    while (!ending_ && pthread_cond_timedwait(&wake_, &lock_, &until) != ETIMEDOUT) {
    }
    const bool go_on = !ending_;
    pthread_mutex_unlock(&lock_);
    return go_on;
  }
  void end() {
    pthread_mutex_lock(&lock_);
    ending_ = true;
    pthread_cond_broadcast(&wake_);
    pthread_mutex_unlock(&lock_);
  }

private:
  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t wake_;
  bool ending_ = false;
};

struct Live {
  LiveOptions options;
  Topology topology;
  AccessSources sources;
  MigrationLog log;
  MigrationReplay replay;
  Sleeper sleeper;
  Migrator *migrator = nullptr;
  pthread_t threads[2];
  unsigned thread_count = 0;
  pid_t process = 0;
  bool wants_summary = false;
  bool repeats = false; ///< makes the moves of a log; nothing is counted
  bool places() const { return options.mode == NumaMode::kPlace; }
  alignas(Migrator) char migrator_memory[sizeof(Migrator)];
};
Live *g_live;

template <size_t n> void say(const TextBuffer<n> &t) { write_to_start_stderr(t.data(), t.size()); }
void warn(const char *item, const char *why) {
  TextBuffer<768> t;
  t.put("smalloc: warning: numa (").put(item).put("): ").put(why).put_char('\n');
  say(t);
}

void *run_profiler(void *) {
  Live &live = *g_live;
  constexpr uint64_t kNothingToCountNs = 1000 * kTickNs;
  live.sources.ignore_thread(static_cast<uint32_t>(gettid()));
  const uint64_t tick_ns = live.repeats ? kNothingToCountNs : kTickNs;
  do
    live.migrator->profile();
  while (live.sleeper.sleep_until(kKernelMover.now_ns() + tick_ns));
  return nullptr;
}

void *run_migrator(void *) {
  Live &live = *g_live;
  live.sources.ignore_thread(static_cast<uint32_t>(gettid()));
  uint64_t begun = kKernelMover.now_ns();
  const uint64_t interval_ns = live.options.interval_ms * kMillisecond;
  for (;;) {
    const bool places = live.places() && !live.migrator->placed();
    // The sleep is counted from now, not from when the interval should have begun: after SIGCONT
    // one interval ends, not all that were slept through.
    if (!live.sleeper.sleep_until(begun + (places ? kPlaceNs : interval_ns)))
      return nullptr;
    const uint64_t now = kKernelMover.now_ns();
    live.migrator->interval(now - begun);
    begun = kKernelMover.now_ns();
  }
}

/// Opens the stack's memory, except a page at the low end: a stack that overflows runs into it.
bool open_stack(void *place, size_t bytes) {
  return mprotect(static_cast<char *>(place) + kBasePageBytes, bytes - kBasePageBytes,
                  PROT_READ | PROT_WRITE) == 0;
}

bool start_thread(Live &live, void *(*run)(void *), const char *name) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  // The program's static TLS lies on this stack, too. If it does not fit, the thread gets a stack
  // from the C library instead.
  constexpr size_t kStackBytes = size_t{1} << 20;
  pthread_t &thread = live.threads[live.thread_count];
  bool ok = false;
  if (void *place = place_for(kStackBytes); place && open_stack(place, kStackBytes)) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    ok = pthread_attr_setstack(&attributes, static_cast<char *>(place) + kBasePageBytes,
                               kStackBytes - kBasePageBytes) == 0 &&
         pthread_create(&thread, &attributes, run, nullptr) == 0;
    pthread_attr_destroy(&attributes);
  }
  ok = ok || pthread_create(&thread, nullptr, run, nullptr) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (ok)
    pthread_setname_np(live.threads[live.thread_count++], name);
  return ok;
}

/// True for "stats:exit" in SMALLOC_CONF, unless JSON is requested: another line would spoil the
/// document.
bool stats_at_exit(const char *conf) {
  char value[64];
  return trace::find_conf_key(conf, "stats", value, sizeof value) && strstr(value, "exit") &&
         !strstr(value, "json");
}

const char *program_name() {
  static char name[256];
  const ssize_t n = readlink("/proc/self/exe", name, sizeof name - 1);
  name[n > 0 ? n : 0] = 0;
  for (char *c = name; *c; c++)
    if (*c == ' ' || *c == '\n')
      *c = '_';
  return name;
}

void open_log(Live &live) {
  char path[512];
  if (!*live.options.log || !expand_file_name(live.options.log, path, sizeof path))
    return;
  if (const int error = live.log.create(path)) {
    warn(path, strerror(error));
    return;
  }
  TextBuffer<1024> t;
  t.put(kLogHeader).put(" pid=").number(static_cast<uint64_t>(getpid())).put(" source=");
  t.put(live.places() ? "place" : live.repeats ? "replay" : live.sources.name());
  t.put(" stands_for=").number(live.sources.stands_for()).put(" interval_ms=");
  t.number(live.options.interval_ms).put(" nodes=");
  for (unsigned n = 0; n < live.topology.nodes; n++)
    t.put(n ? "," : "").number(live.topology.node[n].os_id);
  live.log.line(t.put(" program=").put(program_name()).put_char('\n').text());
  live.log.flush();
}

// Ends the migration in a child of fork: threads, rings and log are the parent's.
void in_child() {
  if (!g_live)
    return;
  g_live = nullptr;
  trace::listen(nullptr);
  listen_to_accesses(0);
}

/// Offers tell_access() to instrumented code: that of profile-generate, and a separate recorder,
/// which exports this pointer.
void offer_listener() {
  trace::listen(tell_access);
  if (auto *listener = static_cast<void (**)(uint64_t, uint32_t)>(
          dlsym(RTLD_DEFAULT, "__smalloc_v1_access_listener")))
    *listener = tell_access;
}

/// Opens the sources. A run that follows a log opens what the recorded run opened, so that the
/// program's memory lies where it lay then. Nothing is counted then.
void open_sources(Live &live, const char *sysfs) {
  AccessSources::Config config;
  config.wanted = live.options.source;
  config.sample_period = live.options.sample_period;
  config.sysfs = sysfs;
  config.idle = live.repeats;
  if (live.repeats) {
    char key[32];
    snprintf(key, sizeof key, "numa_source:%s", live.replay.source());
    LiveOptions recorded;
    parse_live_options(Text(key), recorded);
    config.wanted = recorded.source;
  }
  const char *why = live.sources.open(config, live.topology);
  if (live.repeats)
    return;
  // Without a source only an instrumented program is counted: it passes its accesses itself.
  if (why)
    warn("source", why);
  if (config.wanted == CountSource::kAuto || config.wanted == CountSource::kInstrumented)
    offer_listener();
}

void warn_of_no_migration(const LiveOptions &options, const char *why) {
  TextBuffer<768> t;
  t.put(why);
  char log[512];
  if (*options.log && expand_file_name(options.log, log, sizeof log))
    t.put("; the log ").put(log).put(" is not written");
  warn(options.mode == NumaMode::kPlace ? "place"
       : *options.replay                ? "replay"
                                        : "migrate",
       t.put_char('\0').data());
  if (*options.log)
    say(TextBuffer<128>().put("hint: smalloc numa topology shows the nodes, smalloc numa "
                              "simulate what migration would bring\n"));
}

__attribute__((constructor(102))) void start() {
  const char *conf = getauxval(AT_SECURE) ? nullptr : getenv("SMALLOC_CONF");
  LiveOptions options;
  if (!conf)
    return;
  remember_start_stderr();
  parse_live_options(Text(conf), options);
  if (options.mode < NumaMode::kMigrate)
    return;
  if (options.mode == NumaMode::kPlace && !*options.replay)
    return warn("place", "set numa_replay:LOG, a log of numa_log; nothing is placed");
  static char sysfs[256] = "/sys";
  trace::find_conf_key(conf, "sysfs", sysfs, sizeof sysfs);
  if (*options.log || *options.replay)
    keep_together();
  void *memory = map_pages(sizeof(Live));
  if (!memory)
    return;
  Live &live = *new (memory) Live;
  live.options = options;
  live.process = getpid();
  live.wants_summary = stats_at_exit(conf);
  live.repeats = *options.replay;
  const char *why = nullptr;
  if (!read_nodes(read_system_file, sysfs, live.topology))
    why = "the kernel has no NUMA support; nothing migrates";
  else if (live.topology.nodes < 2)
    why = "this machine has one node, every access is local; nothing migrates";
  if (why) {
    warn_of_no_migration(options, why);
    unmap_pages(memory, sizeof(Live));
    return;
  }
  if (live.repeats) {
    why = live.replay.load(options.replay, live.places() ? MigrationReplay::Kind::kPlace
                                                         : MigrationReplay::Kind::kReplay);
    if (why)
      warn(options.replay, why);
  }
  open_sources(live, sysfs);
  Migrator::Hooks hooks;
  hooks.sysfs = sysfs;
  live.migrator = new (live.migrator_memory)
      Migrator(options, live.topology, live.repeats ? nullptr : &live.sources, &live.log, hooks);
  if (live.repeats)
    live.migrator->replay(live.replay);
  open_log(live);
  g_live = &live;
  pthread_atfork(nullptr, nullptr, in_child);
  if (!start_thread(live, run_profiler, "smalloc-count") ||
      !start_thread(live, run_migrator, "smalloc-migrate"))
    warn("migrate", "no thread can be had; nothing migrates");
}

void print_summary(const Live &live) {
  const Migrator &m = *live.migrator;
  const MoverCounters &moved = m.moved();
  TextBuffer<1024> t;
  t.put("smalloc: numa: source ").put(live.sources.name()).put(", ");
  t.number(m.counters().intervals).put(" intervals, ").number(m.counters().samples);
  t.put(" samples, moved ").number(moved.pages).put(" pages and ").number(moved.superpages);
  t.put(" superpages, ").number(moved.splits).put(" split, ").number(moved.failed());
  t.put(" stayed");
  for (unsigned i = 0; i < kMoveFailures; i++)
    if (moved.failures[i])
      t.put(" ").put(failure_name(static_cast<MoveFailure>(i))).put(":").number(moved.failures[i]);
  if (m.replayed() && m.replayed()->counters().moves)
    t.put(", repeated ").number(m.replayed()->counters().done).put(" of ");
  if (m.replayed() && m.replayed()->counters().moves)
    t.number(m.replayed()->counters().moves).put(" moves");
  uint64_t cpu_ns = 0;
  for (unsigned i = 0; i < live.thread_count; i++) {
    clockid_t clock;
    if (pthread_getcpuclockid(live.threads[i], &clock) == 0)
      cpu_ns += clock_ns(clock);
  }
  t.put(", own time ").number(cpu_ns / 1000).put(" us, profile ").bytes(m.pages().bytes());
  say(t.put_char('\n'));
}

__attribute__((destructor(102))) void finish() {
  if (!g_live || g_live->process != getpid())
    return;
  Live &live = *g_live;
  if (live.wants_summary)
    print_summary(live); // while the threads' clocks exist
  live.migrator->stop();
  live.sleeper.end();
  timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += kMostWaitSeconds;
  bool ended = true;
  for (unsigned i = 0; i < live.thread_count; i++)
    ended &= pthread_timedjoin_np(live.threads[i], nullptr, &until) == 0;
  if (ended)
    live.migrator->end();
  g_live = nullptr;
}

} // namespace
} // namespace smalloc::numa
