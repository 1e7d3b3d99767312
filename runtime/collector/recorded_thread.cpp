// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// recorded_thread.cpp gives a thread a chunk: an idle one of an ended thread, else a new one. When
// the thread ends, its chunk is written and put on the idle list.
#include "runtime/collector/recorded_thread.h"
#include "runtime/collector/collector.h"
#include "runtime/collector/recorded_accesses.h"
#include "runtime/collector/recording_state.h"

#include <pthread.h>

namespace smalloc::trace {
namespace {

std::atomic<uint64_t> g_next_thread{1};
std::atomic<ThreadChunk *> g_chunks{nullptr}; // all chunks; never shortened
std::atomic<ThreadChunk *> g_idle{nullptr};   // of ended threads; the list is taken as a whole
/// Naps of 1 ms at the end for all threads together: ten seconds. A chunk may be lost if the disk
/// takes longer to write them.
constexpr unsigned kNapsAtEnd = 10000;
pthread_key_t g_key;
bool g_key_made;

// Destructor of the key: writes the ending thread's chunk and puts it on the idle list.
void leave_thread(void *) {
  ThreadState &state = t_state;
  const Inside inside;
  if (!state.chunk)
    return;
  write_recorded(state, g_clock.now(state.time));
  state.chunk->flush();
  ThreadChunk *chunk = state.chunk;
  state.chunk = nullptr;
  state.recorded_start = nullptr;
  state.told = {};
  state.looked_at = 0;
  ThreadChunk *head = g_idle.load();
  do
    chunk->next_idle = head;
  while (!g_idle.compare_exchange_weak(head, chunk));
}

ThreadChunk *idle_chunk() {
  // Takes the whole list and gives back all but one: popping one chunk would allow the ABA problem.
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

} // namespace

__thread ThreadState t_state;

void begin_threads() { g_key_made = pthread_key_create(&g_key, leave_thread) == 0; }

bool enter_thread(ThreadState &state) {
  const uint64_t id = g_next_thread.fetch_add(1);
  ThreadChunk *chunk = idle_chunk();
  if (chunk)
    chunk->restart(id);
  else if (!(chunk = create_chunk(id, kRecordedRoom * sizeof(uint64_t))))
    return false;
  state.chunk = chunk;
  state.recorded_start = static_cast<uint64_t *>(chunk->extra());
  open_recorded(state);
  if (g_key_made)
    pthread_setspecific(g_key, chunk);
  return true;
}

uint64_t close_others(const ThreadChunk *own) {
  unsigned naps = kNapsAtEnd;
  uint64_t lost = 0;
  for (ThreadChunk *chunk = g_chunks.load(); chunk; chunk = chunk->next)
    if (chunk != own) {
      chunk->close(naps);
      lost += chunk->lost();
    }
  return lost;
}
void drop_chunks() {
  for (ThreadChunk *chunk = g_chunks.load(); chunk; chunk = chunk->next)
    chunk->drop();
}

ThreadChunk *new_chunk() { return create_chunk(g_next_thread.fetch_add(1), 0); }

LeaveOut::LeaveOut() : before_(t_state.inside) { t_state.inside = true; }
LeaveOut::~LeaveOut() { t_state.inside = before_; }
void leave_out_this_thread() { t_state.inside = true; }

} // namespace smalloc::trace
