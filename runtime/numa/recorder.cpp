// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// recorder.cpp records all accesses of a running OpenMP program: each load and store that clang
// instruments (-fsanitize-coverage=edge,no-prune,trace-loads,trace-stores), except those to the
// thread's own stack. It records cache lines, and folds runs of the same line.
//
// Time is logical. A thread's clock counts its accesses. OpenMP's synchronisation joins clocks as
// Lamport's do: at the start of a parallel region, and at each barrier to the latest of the team.
// (libomp reports it by OMPT to a library that defines ompt_start_tool.) So the merged trace is
// what as many processors as threads would do side by side, however few there were.
//
// SMALLOC_NUMA_TRACE names the file; without it nothing is recorded.
#include "runtime/trace/writer.h"
#include "smalloc/files/quiet_file.h"

#include <new>
#include <omp-tools.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

using smalloc::trace::Output;
using smalloc::trace::ThreadChunk;

/// Receives every access while it is set. libsmalloc_feedback.so sets it when pages migrate
/// (runtime/numa/live).
extern "C" {
__attribute__((visibility("default"))) void (*__smalloc_v1_access_listener)(uint64_t,
                                                                            uint32_t) = nullptr;
}

namespace {

constexpr unsigned kLineBytes = 64;
/// Lines that a thread may use in turn without a record for each use (three streams and some
/// scalars). No cache is smaller, so no miss is lost.
constexpr unsigned kOpenLines = 8;
constexpr unsigned kBatch = 64; ///< accesses in a record: how finely threads interleave

struct Recorder {
  ThreadChunk *chunk = nullptr;
  uint64_t clock = 0, barriers = 0;
  uintptr_t stack_low = 0, stack_high = 0;
  unsigned batched = 0;
  ThreadChunk::Access open[kOpenLines] = {};
  ThreadChunk::Access batch[kBatch];
  Recorder *next = nullptr;
};

Output output;
bool enabled = false;
std::atomic<uint64_t> others{0}, team_clock{0}, team_barriers{0}, barrier_clock[16];
std::atomic<Recorder *> all{nullptr};
__thread Recorder *self __attribute__((tls_model("initial-exec")));
__thread bool dead __attribute__((tls_model("initial-exec")));

void raise(std::atomic<uint64_t> &to, uint64_t value) {
  uint64_t seen = to.load(std::memory_order_relaxed);
  while (seen < value && !to.compare_exchange_weak(seen, value)) {
  }
}

/// Threads of a team get their number in it, so that neighbours in the data are neighbours in the
/// trace. The main thread gets 0, the others numbers in the order of their appearance.
constexpr unsigned kNoNumber = ~0u;
constexpr uint64_t kFirstOther = 1000;

Recorder *start_thread(unsigned number = kNoNumber) {
  if (!enabled || dead)
    return nullptr;
  dead = true; // accesses of pthread_getattr_np are not the program's
  void *memory = calloc(1, sizeof(Recorder));
  if (!memory)
    return nullptr;
  auto *r = new (memory) Recorder;
  pthread_attr_t attributes;
  void *low;
  size_t bytes;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
      r->stack_low = reinterpret_cast<uintptr_t>(low);
      r->stack_high = r->stack_low + bytes;
    }
    pthread_attr_destroy(&attributes);
  }
  if (number == kNoNumber && gettid() == getpid())
    number = 0;
  r->chunk =
      ThreadChunk::create(output, number == kNoNumber ? kFirstOther + others.fetch_add(1) : number);
  r->clock = team_clock.load();
  r->next = all.load();
  while (!all.compare_exchange_weak(r->next, r)) {
  }
  self = r;
  dead = false;
  return r;
}

void write_batch(Recorder &r) {
  if (r.batched && r.chunk)
    r.chunk->accesses(r.clock, 1, r.batch, r.batched);
  r.batched = 0;
}
void close_line(Recorder &r, ThreadChunk::Access &line) {
  if (!line.address)
    return;
  r.batch[r.batched++] = line;
  line.address = 0;
  if (r.batched == kBatch)
    write_batch(r);
}
/// Writes all accesses so far, so that they come before whatever follows.
void settle(Recorder &r) {
  for (ThreadChunk::Access &line : r.open)
    close_line(r, line);
  write_batch(r);
}

inline void record(const void *p, bool write) {
  if (auto *listener = __atomic_load_n(&__smalloc_v1_access_listener, __ATOMIC_RELAXED)) {
    // Addresses just above this frame are the thread's own stack.
    constexpr uintptr_t kStackBytes = uintptr_t{1} << 20;
    const auto at = reinterpret_cast<uintptr_t>(p);
    if (at - reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) >= kStackBytes)
      listener(at, 1);
  }
  Recorder *r = self;
  if (__builtin_expect(!r, 0) && !(r = start_thread()))
    return;
  auto address = reinterpret_cast<uintptr_t>(p);
  if (address - r->stack_low < r->stack_high - r->stack_low)
    return;
  r->clock++;
  uintptr_t line = address & ~uintptr_t{kLineBytes - 1};
  ThreadChunk::Access &slot = r->open[line / kLineBytes % kOpenLines];
  if (slot.address == line) {
    slot.repeats++;
    slot.write |= write;
    return;
  }
  close_line(*r, slot);
  slot = {line, 0, write};
}

// --- OpenMP ---

void parallel_begin(ompt_data_t *, const ompt_frame_t *, ompt_data_t *, unsigned, int,
                    const void *) {
  Recorder *r = self ? self : start_thread();
  if (!r)
    return;
  settle(*r);
  raise(team_clock, r->clock);
  team_barriers.store(r->barriers);
}
void implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t *, ompt_data_t *, unsigned,
                   unsigned index, int flags) {
  // The initial task counts from 1, a team from 0.
  Recorder *r = self ? self : start_thread(flags & ompt_task_initial ? 0 : index);
  if (!r || endpoint != ompt_scope_begin)
    return;
  settle(*r);
  uint64_t begun = team_clock.load();
  r->clock = r->clock > begun ? r->clock : begun;
  r->barriers = team_barriers.load();
}
void sync_region(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t *,
                 ompt_data_t *, const void *) {
  Recorder *r = self;
  if (!r || kind == ompt_sync_region_taskwait || kind == ompt_sync_region_taskgroup ||
      kind == ompt_sync_region_reduction)
    return;
  // Clocks only grow, so a slot that an older barrier has used needs no clearing.
  std::atomic<uint64_t> &slot = barrier_clock[r->barriers % 16];
  if (endpoint == ompt_scope_begin) {
    settle(*r);
    raise(slot, r->clock);
  } else if (endpoint == ompt_scope_end) {
    uint64_t latest = slot.load();
    r->clock = r->clock > latest ? r->clock : latest;
    r->barriers++;
  }
}

int initialize(ompt_function_lookup_t lookup, int, ompt_data_t *) {
  auto set = reinterpret_cast<ompt_set_callback_t>(lookup("ompt_set_callback"));
  if (!set)
    return 0;
  set(ompt_callback_parallel_begin, reinterpret_cast<ompt_callback_t>(parallel_begin));
  set(ompt_callback_implicit_task, reinterpret_cast<ompt_callback_t>(implicit_task));
  set(ompt_callback_sync_region, reinterpret_cast<ompt_callback_t>(sync_region));
  return 1;
}
void finalize(ompt_data_t *) {}

__attribute__((constructor)) void open_trace() {
  const char *path = getenv("SMALLOC_NUMA_TRACE");
  if (!path || !*path)
    return;
  static const char header[] = "source=instrumented\nclock=logical\n";
  enabled = output.open(path, header, sizeof header - 1) == 0;
  if (!enabled) {
    static const char text[] = "smalloc: warning: SMALLOC_NUMA_TRACE: cannot create the trace; "
                               "nothing is recorded\n";
    if (smalloc::write_quietly(STDERR_FILENO, text, sizeof text - 1) < 0)
      return;
  }
  // The trace is the parent's: the child leaves it alone.
  pthread_atfork(nullptr, nullptr, [] {
    enabled = false;
    self = nullptr;
    dead = true;
    output.close();
  });
}
__attribute__((destructor)) void close_trace() {
  if (!enabled)
    return;
  enabled = false;
  for (Recorder *r = all.load(); r; r = r->next) {
    settle(*r);
    if (r->chunk) {
      r->chunk->end(r->clock);
      r->chunk->flush();
    }
  }
  output.end();
}

} // namespace

#define SMALLOC_EXPORT_COVERAGE(bytes)                                                             \
  extern "C" __attribute__((visibility("default"))) void __sanitizer_cov_load##bytes(              \
      const void *p) {                                                                             \
    record(p, false);                                                                              \
  }                                                                                                \
  extern "C" __attribute__((visibility("default"))) void __sanitizer_cov_store##bytes(             \
      const void *p) {                                                                             \
    record(p, true);                                                                               \
  }
SMALLOC_EXPORT_COVERAGE(1)
SMALLOC_EXPORT_COVERAGE(2)
SMALLOC_EXPORT_COVERAGE(4)
SMALLOC_EXPORT_COVERAGE(8)
SMALLOC_EXPORT_COVERAGE(16)

extern "C" __attribute__((visibility("default"))) ompt_start_tool_result_t *
ompt_start_tool(unsigned, const char *) {
  static ompt_start_tool_result_t result = {initialize, finalize, {0}};
  return getenv("SMALLOC_NUMA_TRACE") ? &result : nullptr;
}
