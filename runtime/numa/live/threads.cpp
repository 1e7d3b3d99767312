// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// threads.cpp finds the program's threads in /proc/self/task, since their start is not reported. It
// holds them by a signal handler that waits on a futex.
#include "runtime/numa/live/threads.h"

#include <atomic>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace smalloc::numa {
namespace {

std::atomic<int> g_ours[8]; ///< 0: none; smalloc's threads enter themselves
int g_seen[kMostThreads];
unsigned g_seen_count, g_next_node;

bool contains(const int *list, unsigned n, int what) {
  for (unsigned i = 0; i < n; i++)
    if (list[i] == what)
      return true;
  return false;
}

bool is_ours(int thread) {
  for (const std::atomic<int> &ours : g_ours)
    if (ours.load(std::memory_order_relaxed) == thread)
      return true;
  return false;
}

struct Entry64 { // as getdents64(2) returns it: readdir(3) would allocate
  uint64_t inode;
  int64_t offset;
  uint16_t bytes;
  uint8_t type;
  char name[];
};

unsigned list_threads(const char *procfs, int *out, unsigned capacity) {
  char path[300];
  alignas(8) char buffer[4096];
  snprintf(path, sizeof path, "%s/self/task", procfs);
  const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return 0;
  unsigned n = 0;
  for (long got; (got = syscall(SYS_getdents64, fd, buffer, sizeof buffer)) > 0;)
    for (long at = 0; at < got;) {
      const auto *entry = reinterpret_cast<const Entry64 *>(buffer + at);
      at += entry->bytes;
      const int thread = atoi(entry->name);
      if (thread > 0 && !is_ours(thread) && n < capacity)
        out[n++] = thread;
    }
  close(fd);
  return n;
}

int g_threads[kMostThreads];

// --- Stopping. Everything that the handler touches is lock-free. ---
std::atomic<uint32_t> g_held{0}; ///< generation that must wait; 0: none
std::atomic<unsigned> g_arrived{0};
uint32_t g_generation;

void futex(std::atomic<uint32_t> &word, int operation, uint32_t value) {
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), operation | FUTEX_PRIVATE_FLAG, value,
          nullptr, nullptr, 0);
}

void hold(int) {
  const int before = errno;
  const uint32_t generation = g_held.load();
  if (generation) {
    g_arrived.fetch_add(1);
    while (g_held.load() == generation)
      futex(g_held, FUTEX_WAIT, generation);
  }
  errno = before;
}

} // namespace

void leave_alone(int thread) {
  for (std::atomic<int> &ours : g_ours)
    if (int none = 0; ours.compare_exchange_strong(none, thread))
      return;
}

unsigned bind_new_threads(const Topology &topology, const char *procfs) {
  const unsigned n = list_threads(procfs, g_threads, kMostThreads);
  // The system reuses the numbers of ended threads for others.
  unsigned kept = 0, bound = 0;
  for (unsigned i = 0; i < g_seen_count; i++)
    if (contains(g_threads, n, g_seen[i]))
      g_seen[kept++] = g_seen[i];
  g_seen_count = kept;
  for (unsigned i = 0; i < n; i++) {
    if (contains(g_seen, kept, g_threads[i]) || g_seen_count == kMostThreads)
      continue;
    g_seen[g_seen_count++] = g_threads[i];
    cpu_set_t allowed, wanted;
    if (sched_getaffinity(g_threads[i], sizeof allowed, &allowed) != 0)
      continue;
    // Finds the next node with a processor that this thread may use.
    for (unsigned tries = 0; tries < topology.nodes; tries++) {
      const unsigned node = g_next_node++ % topology.nodes;
      CPU_ZERO(&wanted);
      for (unsigned cpu = 0; cpu < CPU_SETSIZE && cpu < kMaxCpus; cpu++)
        if (topology.node_of_cpu[cpu] == node && CPU_ISSET(cpu, &allowed))
          CPU_SET(cpu, &wanted);
      if (CPU_COUNT(&wanted) == 0)
        continue;
      bound += sched_setaffinity(g_threads[i], sizeof wanted, &wanted) == 0;
      break;
    }
  }
  return bound;
}

bool stop_other_threads(const char *procfs) {
  const int signal = SIGRTMAX;
  struct sigaction now;
  if (sigaction(signal, nullptr, &now) != 0)
    return false;
  if (now.sa_handler != hold) {
    if ((now.sa_flags & SA_SIGINFO) || now.sa_handler != SIG_DFL)
      return false;
    struct sigaction ours = {};
    ours.sa_handler = hold;
    ours.sa_flags = SA_RESTART | SA_ONSTACK;
    sigfillset(&ours.sa_mask);
    if (sigaction(signal, &ours, nullptr) != 0)
      return false;
  }
  g_arrived = 0;
  g_generation = g_generation + 1 ? g_generation + 1 : 1;
  g_held = g_generation;
  const unsigned n = list_threads(procfs, g_threads, kMostThreads);
  unsigned sent = 0;
  for (unsigned i = 0; i < n; i++)
    sent += syscall(SYS_tgkill, getpid(), g_threads[i], signal) == 0;
  constexpr int kMostWaits = 100;
  for (int i = 0; i < kMostWaits && g_arrived.load() < sent; i++) {
    const timespec ms = {0, 1000000};
    nanosleep(&ms, nullptr);
  }
  return true;
}

void resume_other_threads() {
  g_held = 0;
  futex(g_held, FUTEX_WAKE, INT32_MAX);
}

} // namespace smalloc::numa
