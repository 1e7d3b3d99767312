// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// collector.cpp decides when a process is recorded (SMALLOC_CONF=trace:FILE, or a program that was compiled to leave a
// profile; never with raised privileges), what a thread's chunk is, and which site an allocation is of.
#include "runtime/trace/collector.h"
#include "runtime/trace/event_clock.h"
#include "runtime/trace/image_names.h"
#include "runtime/trace/lately_told.h"
#include "runtime/trace/recorded_parent.h"
#include "runtime/trace/recorded_sites.h"
#include "runtime/trace/region_sample.h"
#include "runtime/trace/settings.h"
#include "runtime/trace/writer.h"
#include "smalloc/base/units.h"
#include "smalloc/include/smalloc/access.h"
#include "smalloc/include/smalloc/site.h"
#include "smalloc/os/loaded_objects.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

namespace smalloc::trace {
namespace {

constexpr uint64_t kSecond = 1000000000;
constexpr size_t kToldKept = kMostAccesses - SMALLOC_TOLD_BEHIND_END;
constexpr size_t kToldRoom = kToldKept + SMALLOC_TOLD_BEHIND_END;
constexpr size_t kLeastTold = kToldKept / 2; // that are to be written: fewer wait for more
// So many others may have been told since a page was, and it is not told again: what a reuse distance may be off by. A loop that
// jumps about in a table of 128 KiB tells next to nothing. At lower rates each page that is told stands for several.
constexpr uint64_t kToldWindow = 48, kLeastToldWindow = 8;
constexpr uint32_t kWalksAReading = 64; // of the clock: it takes as long as to note a walk

Output g_output;
Settings g_settings;
RegionSample g_sample;
void (*g_lowered)(); // is told when the sample's threshold falls
void (*g_finishing)(), (*g_forked)();
const char *g_source = "preload";
bool g_started, g_refused;
EventClock g_clock;
pid_t g_process; // that the trace belongs to
std::atomic<uint64_t> g_next_thread{1}, g_next_faults_ns{0};
std::atomic<ThreadChunk *> g_chunks{nullptr}; // every one there is; never shortened
std::atomic<ThreadChunk *> g_idle{nullptr};   // of threads that have ended; taken whole
pthread_key_t g_key;
bool g_key_made;

struct ThreadState {
  smalloc_told told; // the program itself writes there; no room: no chunk
  ThreadChunk *chunk;
  uint64_t *told_start; // kToldRoom of them, behind the chunk's own memory
  size_t looked_at;     // of them; the others may be of pages that have been told lately
  const void *announced_caller;
  const smalloc_cell *announced_cell;
  ThreadTime time;
  uint32_t walks; // until the time is looked at
  bool inside;    // we ourselves are at work, or the thread has said good-bye
  LatelyMet met;
  LatelyTold lately;
};
__thread ThreadState t_state __attribute__((tls_model("initial-exec")));
uint64_t g_nowhere[kToldRoom]; // of threads whose accesses cannot be kept; nobody reads it

/// Sets t_state.inside, so that what we call may allocate, and keeps errno.
class Inside {
public:
  Inside() : entered_(!t_state.inside), errno_(errno) { t_state.inside = true; }
  ~Inside() {
    if (entered_)
      t_state.inside = false;
    errno = errno_;
  }
  explicit operator bool() const { return entered_; }

private:
  bool entered_;
  int errno_;
};

RecordedSites g_sites;

uint64_t told_window() {
  const uint64_t window = (kToldWindow * g_sample.threshold()) >> 32;
  return window > kLeastToldWindow ? window : kLeastToldWindow;
}

// Takes all the memory that there is; what is there counts as written.
void empty_told(ThreadState &state) {
  state.told.next = state.told_start;
  state.told.end = state.told_start + kToldKept;
  state.looked_at = 0;
}

// Programs that cannot ask what is kept tell everything.
std::atomic<bool> g_all_is_told{false};

size_t drop_what_is_not_kept(uint64_t *told, size_t count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++)
    if (region_hash(told[i] & ~kWrites) < g_sample.threshold())
      told[kept++] = told[i];
  return kept;
}

// How many accesses are in the thread's memory, without those of pages that have been told lately.
size_t look_at_told(ThreadState &state) {
  const auto bytes =
      reinterpret_cast<uintptr_t>(state.told.next) - reinterpret_cast<uintptr_t>(state.told_start);
  size_t count = bytes / sizeof(uint64_t);
  if (!state.told_start || count > kToldRoom) {
    empty_told(state); // they went nowhere
    return 0;
  }
  // A signal handler's may have gone on where a loop that it has interrupted then went back to.
  size_t looked_at = count < state.looked_at ? count : state.looked_at;
  if (g_all_is_told.load(std::memory_order_relaxed))
    count = looked_at + drop_what_is_not_kept(state.told_start + looked_at, count - looked_at);
  looked_at += state.lately.keep(state.told_start + looked_at, count - looked_at);
  state.looked_at = looked_at;
  state.told.next = state.told_start + state.looked_at;
  return state.looked_at;
}

// What the thread writes from here on is sampled below the threshold of now. The gates follow, so that less is told.
void note_threshold(ThreadState &state, bool lowered) {
  state.chunk->sampled_below(g_sample.threshold());
  state.lately.later(told_window());
  if (lowered && g_lowered)
    g_lowered();
}

void write_told(ThreadState &state, uint64_t now) {
  if (state.told.next == state.told_start)
    return;
  size_t count = look_at_told(state);
  if (count && g_sample.bounded()) {
    bool lowered = false;
    count = g_sample.keep(state.told_start, count, state.met, lowered);
    note_threshold(state, lowered);
  }
  if (count)
    state.chunk->told(now, state.told_start, count);
  empty_told(state);
}

// As a key's destructor: the thread ends, its chunk waits for the next one.
void leave_thread(void *) {
  ThreadState &state = t_state;
  const Inside inside;
  if (!state.chunk)
    return;
  write_told(state, g_clock.now(state.time));
  state.chunk->flush();
  ThreadChunk *chunk = state.chunk;
  state.chunk = nullptr;
  state.told_start = nullptr;
  state.told = {};
  state.looked_at = 0;
  ThreadChunk *head = g_idle.load();
  do
    chunk->next_idle = head;
  while (!g_idle.compare_exchange_weak(head, chunk));
}

ThreadChunk *idle_chunk() {
  // Taken whole and given back but one: nobody can put a chunk under our feet twice.
  ThreadChunk *list = g_idle.exchange(nullptr);
  if (!list)
    return nullptr;
  for (ThreadChunk *rest = list->next_idle; rest;) {
    ThreadChunk *next = rest->next_idle;
    ThreadChunk *head = g_idle.load();
    do
      rest->next_idle = head;
    while (!g_idle.compare_exchange_weak(head, rest));
    rest = next;
  }
  return list;
}

ThreadChunk *create_chunk(uint64_t id, size_t extra_bytes) {
  ThreadChunk *chunk = ThreadChunk::create(g_output, id, extra_bytes);
  ThreadChunk *head = g_chunks.load();
  do {
    if (!chunk)
      return nullptr;
    chunk->next = head;
  } while (!g_chunks.compare_exchange_weak(head, chunk));
  return chunk;
}

bool enter_thread(ThreadState &state) {
  const uint64_t id = g_next_thread.fetch_add(1);
  ThreadChunk *chunk = idle_chunk();
  if (chunk)
    chunk->restart(id);
  else if (!(chunk = create_chunk(id, kToldRoom * sizeof(uint64_t))))
    return false;
  state.chunk = chunk;
  state.told_start = static_cast<uint64_t *>(chunk->extra());
  empty_told(state);
  state.lately.open(told_window());
  if (g_key_made)
    pthread_setspecific(g_key, chunk);
  return true;
}

RecordedSite take_site(ThreadState &state, const void *caller) {
  if (const smalloc_cell *cell = state.announced_cell) {
    state.announced_cell = nullptr;
    state.announced_caller = nullptr;
    return g_sites.of_cell(cell, *state.chunk);
  }
  if (state.announced_caller) {
    caller = state.announced_caller;
    state.announced_caller = nullptr;
  }
  return g_sites.of_caller(caller, *state.chunk);
}

void note_faults(ThreadState &state, uint64_t now) {
  rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) == 0)
    state.chunk->faults(now, static_cast<uint64_t>(usage.ru_minflt),
                        static_cast<uint64_t>(usage.ru_majflt));
}

// What every note does first. Accesses before it come first in the trace, too.
bool ready(ThreadState &state, uint64_t &now) {
  if (!state.chunk && !enter_thread(state))
    return false;
  now = g_clock.now(state.time);
  state.walks = kWalksAReading;
  write_told(state, now);
  uint64_t due = g_next_faults_ns.load(std::memory_order_relaxed);
  if (now >= due && g_next_faults_ns.compare_exchange_strong(due, now + kSecond))
    note_faults(state, now);
  return true;
}

void note_segments() {
  ThreadState &state = t_state;
  uint64_t now;
  if (ready(state, now))
    for_each_segment(
        [](uint64_t start, uint64_t bytes, const char *path, void *data) {
          static_cast<ThreadChunk *>(data)->segment(start, bytes, path, strlen(path));
        },
        state.chunk);
}

void open_trace(uint64_t parent) {
  char path[4096], header[8192], host[256] = "", program[4096] = "";
  gethostname(host, sizeof host - 1);
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  program[length > 0 ? length : 0] = 0;
  if (!expand_path(g_settings.pattern, path, sizeof path) || !into_folder(path, sizeof path))
    return;
  char build_id[2 * 64 + 1], rate[48];
  executable_build_id(build_id, sizeof build_id);
  rate_text(g_sample.threshold(), rate, sizeof rate);
  if (g_settings.samples_event)
    rate[0] = '1', rate[1] = 0; // of regions; none is told by the program itself
  int n = snprintf(header, sizeof header,
                   "program=%s\nbuild_id=%s\npid=%d\nhost=%s\nstart=%lld\nsource=%s\nrate=%s\n"
                   "base_page_bytes=%ld\n",
                   program, build_id, static_cast<int>(getpid()), host,
                   static_cast<long long>(time(nullptr)), g_source, rate, sysconf(_SC_PAGESIZE));
  if (n > 0 && parent)
    n += snprintf(header + n, sizeof header - static_cast<size_t>(n), "parent=%llu\n",
                  static_cast<unsigned long long>(parent));
  if (n > 0 && g_settings.samples_event)
    n += snprintf(header + n, sizeof header - static_cast<size_t>(n), "samples=%s\nperiod=%llu\n",
                  g_settings.event.kind == SampleKind::kFaults ? "faults" : "tlb-misses",
                  static_cast<unsigned long long>(g_settings.event.period));
  uint64_t input;
  if (n > 0 && input_of_run(input))
    n += snprintf(header + n, sizeof header - static_cast<size_t>(n), "input=%016llx\n",
                  static_cast<unsigned long long>(input));
  g_clock.start();
  g_process = getpid();
  const int error = g_output.open(path, header, static_cast<size_t>(n));
  if (error) {
    char line[4600];
    n = snprintf(line, sizeof line,
                 "smalloc: warning: trace (%s): %s; nothing is recorded\n"
                 "hint: trace:FILE, in a folder that is there and that you may write\n",
                 path, error == EEXIST ? "it is there, and it is no file" : strerror(error));
    if (write(2, line, static_cast<size_t>(n)) < 0)
      return;
  } else {
    note_segments();
    if (g_output.beside() && !parent && !is_of_this_run(path)) {
      char line[8400];
      n = snprintf(line, sizeof line,
                   "smalloc: note: trace (%s): it is there already; this run's is %s\n", path,
                   g_output.path());
      if (write(2, line, static_cast<size_t>(n)) < 0)
        return;
    }
  }
}

uint64_t g_forking;

void before_fork() { g_forking = static_cast<uint64_t>(getpid()); }

// The child's events go to a file of its own; what the parent had not yet written is the parent's.
void in_child() {
  if (!g_output.recording())
    return;
  const Inside inside;
  g_output.close();
  g_sample.forget_others();
  for (ThreadChunk *chunk = g_chunks.load(); chunk; chunk = chunk->next)
    chunk->drop();
  t_state.time = {};
  if (t_state.chunk) {
    empty_told(t_state);
    t_state.lately.open(told_window());
  }
  g_sites.clear();
  g_next_faults_ns = 0;
  open_trace(g_forking);
  if (g_forked)
    g_forked();
}

void begin() {
  g_started = true;
  const Inside inside;
  g_key_made = pthread_key_create(&g_key, leave_thread) == 0;
  pthread_atfork(before_fork, nullptr, in_child);
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

void when_lowered(void (*call)()) { g_lowered = call; }

void all_is_told(bool yes) { g_all_is_told.store(yes, std::memory_order_relaxed); }

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

void announce_caller(const void *return_address) {
  if (!t_state.announced_cell && !t_state.inside)
    t_state.announced_caller = return_address;
}
void announce_site(const smalloc_cell *cell) { t_state.announced_cell = cell; }

void note_allocate(const void *p, size_t bytes, const void *caller) {
  const Inside inside;
  uint64_t now;
  if (!inside || !ready(t_state, now))
    return;
  const RecordedSite site = take_site(t_state, caller);
  t_state.chunk->allocate(now, site.id, bytes, reinterpret_cast<uintptr_t>(p), site.context);
}

void note_free(const void *p) {
  const Inside inside;
  uint64_t now;
  if (inside && ready(t_state, now))
    t_state.chunk->free(now, reinterpret_cast<uintptr_t>(p));
}

void note_reallocate(const void *p, size_t bytes, const void *old, const void *caller) {
  const Inside inside;
  uint64_t now;
  if (!inside || !ready(t_state, now))
    return;
  const RecordedSite site = take_site(t_state, caller);
  t_state.chunk->reallocate(now, site.id, bytes, reinterpret_cast<uintptr_t>(p),
                            reinterpret_cast<uintptr_t>(old), site.context);
}

const smalloc_told &told() { return t_state.told; }

// The thread's memory is full, or it has none yet. Whether anything is being recorded is asked here alone; runs of one page are put
// together when they are written.
void make_room() {
  ThreadState &state = t_state;
  const Inside inside;
  uint64_t now;
  if (inside && g_output.recording() && (!state.chunk || look_at_told(state) > kLeastTold))
    ready(state, now);
  if (state.told.next >= state.told.end || !g_output.recording()) {
    state.told.next = g_nowhere;
    state.told.end = g_nowhere + kToldKept;
  }
}

void note_access(uint64_t address) {
  ThreadState &state = t_state;
  if (state.told.next >= state.told.end)
    make_room();
  *state.told.next++ = address;
}

void note_walk(uint64_t iterations, const WalkReference *references, size_t count) {
  const auto sampled = [iterations](const WalkReference &r) {
    constexpr uint64_t kMostRegions = 64;
    const uint64_t last = r.address + static_cast<uint64_t>(r.stride) * (iterations - 1);
    uint64_t low = (r.stride < 0 ? last : r.address) >> 21;
    const uint64_t high = (r.stride < 0 ? r.address : last) >> 21;
    if (high - low >= kMostRegions)
      return true; // as good as: the reader looks at each
    for (; low <= high; low++)
      if (region_hash(low << 21) < g_sample.threshold())
        return true;
    return false;
  };
  if (g_sample.threshold() == 0)
    return;
  bool any = g_sample.threshold() == kEveryRegion;
  for (size_t i = 0; i < count && !any; i++)
    any = sampled(references[i]);
  if (!any || iterations == 0)
    return;
  ThreadState &state = t_state;
  const Inside inside;
  if (!inside)
    return;
  uint64_t now = state.time.last_ns;
  if (state.chunk && state.walks > 0) {
    state.walks--;
    write_told(state, now);
  } else if (!ready(state, now)) {
    return;
  }
  if (g_sample.bounded())
    note_threshold(state, g_sample.meet_walk(iterations, references, count));
  state.chunk->walk(now, iterations, references, count);
  double pages = 0;
  for (size_t i = 0; i < count; i++)
    pages += 1 + walk_pages(references[i].stride) * static_cast<double>(iterations);
  state.lately.use(pages < kToldWindow ? static_cast<uint64_t>(pages) : kToldWindow);
}

void note_phase(const char *name) {
  const Inside inside;
  uint64_t now;
  if (inside && ready(t_state, now))
    t_state.chunk->phase(now, name, strlen(name));
}

void finish() {
  if (!g_output.recording() || getpid() != g_process)
    return;
  const Inside inside;
  if (g_finishing)
    g_finishing();
  uint64_t now;
  if (ready(t_state, now)) {
    note_faults(t_state, now);
    t_state.chunk->end(now);
  }
  for (ThreadChunk *chunk = g_chunks.load(); chunk; chunk = chunk->next)
    chunk->flush();
  g_output.close();
}

const SampledEvent *event_to_sample() {
  return g_settings.samples_event ? &g_settings.event : nullptr;
}

ThreadChunk *new_chunk() { return create_chunk(g_next_thread.fetch_add(1), 0); }

uint64_t since_start(uint64_t monotonic_ns) { return g_clock.since_start(monotonic_ns); }

LeaveOut::LeaveOut() : before_(t_state.inside) { t_state.inside = true; }
LeaveOut::~LeaveOut() { t_state.inside = before_; }
void leave_out_this_thread() { t_state.inside = true; }

void when_finishing(void (*call)()) { g_finishing = call; }
void when_forked(void (*call)()) { g_forked = call; }

} // namespace smalloc::trace
