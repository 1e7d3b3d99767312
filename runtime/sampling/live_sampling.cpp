// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// live_sampling.cpp samples a recorded process (SMALLOC_CONF=event:, from smalloc record) into its
// trace. One thread, with all signals blocked, empties the rings a hundred times a second. Samples
// of each thread of the program become accesses of a thread of the trace. They have the kernel's
// time and the event's period as their weight.
// A child of fork has rings and a thread of its own. At the program's end the rest of the rings is
// taken.
#include "runtime/collector/collector.h"
#include "runtime/sampling/address_sampler.h"
#include "runtime/trace/writer.h"
#include "smalloc/base/clock.h"
#include "smalloc/base/units.h"
#include "smalloc/files/quiet_file.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

namespace smalloc::sampling {
namespace {

constexpr long kTickNs = 10000000;
constexpr size_t kAtOnce = 4096;
constexpr size_t kMostThreads = 256; // of the program; later ones share
// Samples closer in time become one record with the time of the first. The kernel takes longer than
// this to provide memory; otherwise the record could date the first touches of an object before its
// allocation.
constexpr uint64_t kTogetherNs = 1000;

constinit AddressSampler g_sampler;
trace::SampledEvent g_event;
pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER; // guards what follows
AddressSample g_samples[kAtOnce];
trace::ThreadChunk::Access g_list[kAtOnce];
uint32_t g_threads[kMostThreads];
trace::ThreadChunk
    *g_chunks[kMostThreads]; // at the same indices; kept for the next process's threads after a
                             // fork
bool g_open;

trace::ThreadChunk *chunk_of(uint32_t thread) {
  size_t at = 0;
  while (at + 1 < kMostThreads && g_threads[at] && g_threads[at] != thread)
    at++;
  if (!g_chunks[at])
    g_chunks[at] = trace::new_chunk();
  g_threads[at] = thread ? thread : 1;
  return g_chunks[at];
}

void write(const AddressSample *samples, size_t count) {
  const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
  for (size_t i = 0; i < count;) {
    const uint32_t thread = samples[i].thread;
    const uint64_t time = samples[i].time_ns;
    size_t n = 0;
    for (; i < count && n < trace::kMostAccesses && samples[i].thread == thread &&
           samples[i].time_ns - time < kTogetherNs;
         i++)
      g_list[n++] = {samples[i].address, 0, samples[i].write};
    if (trace::ThreadChunk *chunk = chunk_of(thread))
      chunk->accesses(trace::since_start(time ? time : now_ns), g_event.period, g_list, n);
  }
}

void drain() {
  pthread_mutex_lock(&g_lock);
  // Bounded: if the rings fill faster than they are emptied, the program has its turns, too.
  for (int round = 0; g_open && round < 64; round++) {
    const size_t n = g_sampler.take(g_samples, kAtOnce);
    if (n == 0)
      break;
    write(g_samples, n);
  }
  pthread_mutex_unlock(&g_lock);
}

void *run(void *) {
  trace::leave_out_this_thread();
  pthread_mutex_lock(&g_lock);
  g_sampler.ignore_thread(static_cast<uint32_t>(gettid()));
  pthread_mutex_unlock(&g_lock);
  const timespec tick = {0, kTickNs};
  for (;;) {
    nanosleep(&tick, nullptr);
    drain();
  }
  return nullptr;
}

void say(const char *why) {
  char line[256];
  const int n =
      snprintf(line, sizeof line,
               "smalloc: warning: record (event): %s; no data accesses are recorded\n", why);
  if (n > 0 && write_quietly(2, line, static_cast<size_t>(n)) < 0)
    return;
}

void start() {
  const long cpus = sysconf(_SC_NPROCESSORS_CONF);
  if (const int error = g_sampler.open(g_event, static_cast<unsigned>(cpus > 0 ? cpus : 1)))
    return say(strerror(error));
  g_open = true;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pthread_t thread;
  const int error = pthread_create(&thread, nullptr, run, nullptr);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error) {
    g_open = false;
    g_sampler.close();
    say(strerror(error));
  } else {
    pthread_detach(thread);
  }
}

void finish() {
  drain();
  pthread_mutex_lock(&g_lock);
  const uint64_t lost = g_open ? g_sampler.lost() : 0;
  g_open = false;
  pthread_mutex_unlock(&g_lock);
  if (lost == 0)
    return;
  char line[160];
  const int n = snprintf(line, sizeof line,
                         "smalloc: warning: record (event): %llu samples were lost\n"
                         "hint: smalloc record --period N, with a larger N\n",
                         static_cast<unsigned long long>(lost));
  if (n > 0 && write_quietly(2, line, static_cast<size_t>(n)) < 0)
    return;
}

void in_child() {
  pthread_mutex_init(&g_lock, nullptr); // its holder is not in this process
  g_sampler.forget();
  memset(g_threads, 0, sizeof g_threads);
  if (g_open) {
    g_open = false;
    start();
  }
}

// Runs after the recording's own constructor.
__attribute__((constructor(102))) void begin() {
  const trace::SampledEvent *event = trace::event_to_sample();
  if (!event || !trace::recording())
    return;
  g_event = *event;
  const trace::LeaveOut quiet;
  trace::when_finishing(finish);
  trace::when_forked(in_child);
  start();
}

} // namespace
} // namespace smalloc::sampling
