// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// threads: every thread keeps a table of objects of one size, all from one site, and replaces them
// at random. Freed objects lie in the thread's heap of that time. Prints live against resident
// bytes.
//   threads [threads] [thousands of objects each] [turnovers]
#include "report.h"
#include <pthread.h>

enum { kMostThreads = 64 };
struct object {
  struct object *next;
  uint64_t key, value[4];
};
static struct worker {
  pthread_t thread;
  struct object **table;
  uint64_t sum;
} worker[kMostThreads];
static size_t objects;
static uint64_t turnovers;
static pthread_barrier_t all_done, measured;

__attribute__((noinline)) static struct object *object_new(uint64_t key) {
  struct object *o = bloat_check(malloc(sizeof *o));
  o->next = NULL;
  o->key = key;
  for (int k = 0; k < 4; k++)
    o->value[k] = key * (unsigned)k;
  return o;
}

static void *work(void *argument) {
  struct worker *w = argument;
  uint64_t x = 88172645463325252u + (uint64_t)(w - worker);
  for (uint64_t turn = 0; turn < objects * turnovers; turn++) {
    struct object **place = &w->table[turn < objects ? turn : bloat_next(&x) % objects];
    if (*place) {
      w->sum += (*place)->value[3];
      free(*place);
    }
    *place = object_new(turn);
    (*place)->next = w->table[0];
  }
  pthread_barrier_wait(&all_done);
  pthread_barrier_wait(&measured);
  return NULL;
}

int main(int argc, char **argv) {
  unsigned threads = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 8;
  objects = (argc > 2 ? strtoull(argv[2], NULL, 10) : 200) * 1000;
  turnovers = argc > 3 ? strtoull(argv[3], NULL, 10) : 12;
  uint64_t sum = 0;
  if (threads > kMostThreads)
    threads = kMostThreads;
  if (pthread_barrier_init(&all_done, NULL, threads + 1) ||
      pthread_barrier_init(&measured, NULL, threads + 1))
    return 1;
  for (unsigned i = 0; i < threads; i++) {
    worker[i].table = bloat_check(calloc(objects, sizeof *worker[i].table));
    if (pthread_create(&worker[i].thread, NULL, work, &worker[i]))
      return 1;
  }
  pthread_barrier_wait(&all_done);
  bloat_measure(threads * objects + threads * objects * sizeof(void *) / 4096 + threads, 4096);
  pthread_barrier_wait(&measured);
  for (unsigned i = 0; i < threads; i++) {
    pthread_join(worker[i].thread, NULL);
    sum += worker[i].sum;
    for (size_t k = 0; k < objects; k++)
      bloat_live(worker[i].table[k], sizeof(struct object));
    for (size_t at = 0; at < objects * sizeof(void *); at += 4096)
      bloat_live((char *)worker[i].table + at, 1);
  }
  bloat_report("threads", threads * objects * (sizeof(struct object) + sizeof(void *)), sum);
  return 0;
}
