// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// recording.cpp starts and ends the recording of a process, and writes the header of its trace. A
// process is recorded if SMALLOC_CONF=trace:FILE says so, or if it was compiled to leave a profile;
// never with raised privileges. A child of fork gets a trace of its own.
#include "runtime/collector/recording.h"
#include "runtime/collector/collector.h"
#include "runtime/collector/image_names.h"
#include "runtime/collector/recorded_accesses.h"
#include "runtime/collector/recorded_parent.h"
#include "runtime/collector/recorded_thread.h"
#include "runtime/collector/settings.h"
#include "smalloc/base/clock.h"
#include "smalloc/base/file_name.h"
#include "smalloc/base/text.h"
#include "smalloc/files/quiet_file.h"
#include "smalloc/process/process_identity.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

namespace smalloc::trace {

constinit Output g_output;
constinit RegionSample g_sample;
constinit EventClock g_clock;
constinit RecordedSites g_sites;
constinit std::atomic<uint64_t> g_next_faults_ns{0};

namespace {

Settings g_settings;
void (*g_finishing)(), (*g_forked)();
const char *g_source = "preload";
bool g_started, g_refused;
pid_t g_process; // owner of the trace
uint64_t g_forking;
uint64_t g_began_ns; // start in ns since 1970; identifies the recording
char g_folder[4096]; // working folder at the start

const char *hint_for(int error) {
  switch (error) {
  case ENOSPC:
  case EDQUOT:
    return "hint: make room there, or trace:FILE, on a disk with room\n";
  case EFBIG:
    return "hint: ulimit -f unlimited, before it\n";
  case ENOMEM:
  case EIO:
    return "";
  default:
    return "hint: trace:FILE, in a folder that is there and that you may write\n";
  }
}

/// Prefixes a relative `path` with `folder`. False: too long.
bool put_below(const char *folder, char *path, size_t capacity) {
  const size_t above = strlen(folder), length = strlen(path);
  if (*path == '/' || above == 0)
    return true;
  if (above + 1 + length >= capacity)
    return false;
  memmove(path + above + 1, path, length + 1);
  memcpy(path, folder, above);
  path[above] = '/';
  return true;
}

using HeaderText = TextBuffer<8192>;

// Writes the header's lines. parent: the process that forked this one; 0: the trace is the first.
void put_header(HeaderText &t, uint64_t parent) {
  const auto process = static_cast<uint64_t>(getpid());
  char host[256] = "", program[4096] = "", build_id[2 * 64 + 1] = "", rate[48];
  gethostname(host, sizeof host - 1);
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  program[length > 0 ? length : 0] = 0;
  executable_build_id(build_id, sizeof build_id);
  rate_text(g_sample.threshold(), rate, sizeof rate);
  t.put("program=").put(program).put("\nbuild_id=").put(build_id).put("\npid=").number(process);
  t.put("\nhost=").put(host).put("\nstart=").number(static_cast<uint64_t>(time(nullptr)));
  // The rate is a share of regions; if events are sampled, the program records no accesses.
  t.put("\nsource=").put(g_source).put("\nrate=").put(g_settings.samples_event ? "1" : rate);
  t.put("\nbase_page_bytes=").number(static_cast<uint64_t>(sysconf(_SC_PAGESIZE))).put_char('\n');
  // Number of cores on which threads can run at once.
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0)
    t.put("processors=").number(static_cast<uint64_t>(CPU_COUNT(&cores))).put_char('\n');
  if (parent) {
    t.put("parent=").number(parent).put("\nparent_start_ns=").number(g_began_ns);
    t.put("\nforked=").number(t_state.forked_ns).put_char('\n');
  }
  g_began_ns = wall_clock_ns();
  t.put("start_ns=").number(g_began_ns).put_char('\n');
  if (g_settings.samples_event) {
    t.put("samples=").put(g_settings.event.kind == SampleKind::kFaults ? "faults" : "tlb-misses");
    t.put("\nperiod=").number(g_settings.event.period).put_char('\n');
  }
  if (const uint64_t ticks = start_ticks(process))
    t.put("start_ticks=").number(ticks).put_char('\n');
  uint64_t input;
  if (input_of_run(input))
    t.put("input=").hex(input).put_char('\n');
}

void open_trace(uint64_t parent) {
  char path[4096];
  if (!expand_file_name(g_settings.pattern, path, sizeof path) ||
      (parent && !put_below(g_folder, path, sizeof path)) || !into_folder(path, sizeof path))
    return;
  HeaderText header;
  put_header(header, parent);
  g_clock.start();
  g_process = getpid();
  TextBuffer<8400> line;
  if (const int error = g_output.open(path, header.data(), header.size())) {
    line.put("smalloc: warning: trace (").put(path).put("): ");
    line.put(error == EEXIST ? "it exists and is not a regular file" : strerror(error));
    line.put("; nothing is recorded\n").put(hint_for(error));
  } else {
    note_segments();
    if (g_output.beside() && !parent && !is_of_this_run(path))
      line.put("smalloc: note: trace (")
          .put(path)
          .put("): it exists already; this run writes ")
          .put(g_output.path())
          .put_char('\n');
  }
  if (line.size() && write_quietly(2, line.data(), line.size()) < 0)
    return;
}

// Writes this thread's events before a fork: until then the parent's trace describes the child's
// memory, too.
void before_fork() {
  g_forking = static_cast<uint64_t>(getpid());
  const Inside
      inside; // a signal handler may fork while the collector runs: then nothing is written
  t_state.forked_ns = inside ? note_fork() : t_state.time.last_ns;
}

// Opens a trace for the child. Events that the parent had not yet written belong to the parent.
void in_child() {
  if (!g_output.recording() && !g_output.ending())
    return;
  const Inside inside;
  g_output.close();
  g_sample.forget_others();
  drop_chunks();
  t_state.time = {};
  if (t_state.chunk)
    open_recorded(t_state);
  g_sites.clear();
  g_next_faults_ns = 0;
  open_trace(g_forking);
  if (g_forked)
    g_forked();
}

void begin() {
  g_started = true;
  const Inside inside;
  if (!getcwd(g_folder, sizeof g_folder))
    g_folder[0] = 0;
  begin_threads();
  pthread_atfork(before_fork, nullptr, in_child);
  at_quick_exit(finish); // quick_exit runs no destructors; the handler registered first runs last
  if (g_settings.samples_event)
    g_sample.open(0, 0);
  else
    g_sample.open(g_settings.threshold, g_settings.samples);
  open_trace(0);
}

__attribute__((constructor(101))) void start() {
  g_refused = !read_settings(g_settings);
  if (!g_refused && g_settings.pattern[0])
    begin();
}

__attribute__((destructor(101))) void stop() { finish(); }

} // namespace

bool recording() { return g_output.recording(); }

uint64_t region_threshold() { return g_output.recording() ? g_sample.threshold() : 0; }

void record_into(const char *directory) {
  if (g_started || g_refused)
    return;
  const Inside inside;
  make_folders(directory);
  const int n = snprintf(g_settings.pattern, sizeof g_settings.pattern, "%s/smalloc.%s.%%p.trace",
                         *directory ? directory : ".", program_invocation_short_name);
  if (n < 0 || static_cast<size_t>(n) >= sizeof g_settings.pattern)
    return;
  g_source = "instrumented";
  begin();
}

void finish() {
  if (!g_output.recording() || getpid() != g_process)
    return;
  const Inside inside;
  if (g_finishing)
    g_finishing();
  note_end();
  g_output.end();
}

const SampledEvent *event_to_sample() {
  return g_settings.samples_event ? &g_settings.event : nullptr;
}

uint64_t since_start(uint64_t monotonic_ns) { return g_clock.since_start(monotonic_ns); }

void when_finishing(void (*call)()) { g_finishing = call; }
void when_forked(void (*call)()) { g_forked = call; }

} // namespace smalloc::trace
