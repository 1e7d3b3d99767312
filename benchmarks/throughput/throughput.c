// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// throughput: the cost of allocation itself. The number of calls is fixed, so times are comparable.
//   throughput MODE [threads] [millions of operations]
// MODE: pair     a malloc and its free at once, 48 bytes (the fast path)
//       small    random replacement among 20,000 live objects of 16..256 bytes
//       mixed    the same, sizes 16 bytes..32 KiB, small ones more often
//       realloc  200 buffers that grow by a quarter up to 256 KiB (a sixteenth of the operations)
//       cross    another thread than the allocating one frees every object (threads in a ring)
// Prints a digest of the objects' contents, which must not depend on the allocator.
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMostThreads = 64, kLive = 20000, kBuffers = 200, kRing = 1024 };

struct object {
  uint64_t tag;
  uint32_t bytes;
};
struct ring { // one writer, one reader
  _Alignas(64) atomic_size_t written;
  _Alignas(64) atomic_size_t read;
  _Alignas(64) struct object *slot[kRing];
};
struct worker {
  pthread_t thread;
  unsigned index, threads;
  uint64_t operations, digest, random;
  struct ring *in, *out;
};

static uint64_t next_random(struct worker *w) {
  w->random ^= w->random << 13;
  w->random ^= w->random >> 7;
  w->random ^= w->random << 17;
  return w->random;
}

static void *checked(void *p) {
  if (!p) {
    perror("throughput");
    exit(1);
  }
  return p;
}

__attribute__((noinline)) static struct object *make(size_t bytes, uint64_t tag) {
  struct object *o = checked(malloc(bytes));
  o->tag = tag;
  o->bytes = (uint32_t)bytes;
  return o;
}

static void end(struct worker *w, struct object *o) {
  w->digest += o->tag * 31 + o->bytes;
  free(o);
}

static void pair(struct worker *w) {
  for (uint64_t i = 0; i < w->operations; i++)
    end(w, make(48, i));
}

static size_t small_size(uint64_t r) { return 16 + r % 241; }
// Octaves of equal weight from 16 bytes to 16 KiB, evenly filled.
static size_t mixed_size(uint64_t r) {
  size_t octave = (size_t)16 << (r >> 32) % 11;
  return octave + r % octave;
}

static void replace(struct worker *w, size_t (*size)(uint64_t)) {
  struct object **live = checked(calloc(kLive, sizeof *live));
  for (uint64_t i = 0; i < w->operations; i++) {
    uint64_t r = next_random(w);
    struct object **slot = &live[(r >> 16) % kLive];
    if (*slot)
      end(w, *slot);
    *slot = make(size(r), i);
  }
  for (size_t i = 0; i < kLive; i++)
    if (live[i])
      end(w, live[i]);
  free(live);
}
static void small(struct worker *w) { replace(w, small_size); }
static void mixed(struct worker *w) { replace(w, mixed_size); }

static void grow(struct worker *w) {
  char *buffer[kBuffers] = {0};
  size_t bytes[kBuffers] = {0};
  for (uint64_t i = 0; i < w->operations / 16; i++) {
    size_t k = next_random(w) % kBuffers, old = bytes[k];
    bytes[k] = old ? old + old / 4 : 64;
    buffer[k] = checked(realloc(buffer[k], bytes[k]));
    buffer[k][bytes[k] - 1] = (char)i;
    w->digest += bytes[k] + (old ? (unsigned char)buffer[k][old - 1] : 0);
    if (bytes[k] > 256 << 10) {
      free(buffer[k]);
      buffer[k] = NULL;
      bytes[k] = 0;
    }
  }
  for (size_t k = 0; k < kBuffers; k++)
    free(buffer[k]);
}

static struct object *take(struct worker *w) {
  size_t at = atomic_load_explicit(&w->in->read, memory_order_relaxed);
  if (atomic_load_explicit(&w->in->written, memory_order_acquire) == at)
    return NULL;
  struct object *o = w->in->slot[at % kRing];
  atomic_store_explicit(&w->in->read, at + 1, memory_order_release);
  return o;
}
static void cross(struct worker *w) {
  uint64_t ended = 0;
  for (uint64_t made = 0; made < w->operations || ended < w->operations;) {
    size_t at = atomic_load_explicit(&w->out->written, memory_order_relaxed);
    int moved = 0;
    if (made < w->operations &&
        at - atomic_load_explicit(&w->out->read, memory_order_acquire) < kRing) {
      w->out->slot[at % kRing] = make(small_size(next_random(w)), made++);
      atomic_store_explicit(&w->out->written, at + 1, memory_order_release);
      moved = 1;
    }
    struct object *o = ended < w->operations ? take(w) : NULL;
    if (o) {
      end(w, o);
      ended++;
    } else if (!moved) {
      sched_yield();
    }
  }
}

static const struct {
  const char *name;
  void (*run)(struct worker *);
} kModes[] = {
    {"pair", pair}, {"small", small}, {"mixed", mixed}, {"realloc", grow}, {"cross", cross}};
static void (*mode)(struct worker *);

static void *run(void *argument) {
  mode(argument);
  return NULL;
}

int main(int argc, char **argv) {
  for (size_t i = 0; argc > 1 && i < sizeof kModes / sizeof *kModes; i++)
    if (strcmp(argv[1], kModes[i].name) == 0)
      mode = kModes[i].run;
  unsigned threads = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
  uint64_t millions = argc > 3 ? strtoull(argv[3], NULL, 10) : 20;
  if (!mode || threads < 1 || threads > kMostThreads || millions < 1 || argc > 4) {
    fprintf(
        stderr,
        "usage: throughput pair|small|mixed|realloc|cross [threads] [millions of operations]\n");
    return 2;
  }
  static struct ring rings[kMostThreads];
  static struct worker workers[kMostThreads];
  for (unsigned i = 0; i < threads; i++) {
    workers[i] = (struct worker){.index = i,
                                 .threads = threads,
                                 .operations = millions * 1000000 / threads,
                                 .random = 88172645463325252u + i,
                                 .in = &rings[i],
                                 .out = &rings[(i + 1) % threads]};
    if (pthread_create(&workers[i].thread, NULL, run, &workers[i]) != 0) {
      perror("throughput");
      return 1;
    }
  }
  uint64_t digest = 0;
  for (unsigned i = 0; i < threads; i++) {
    pthread_join(workers[i].thread, NULL);
    digest += workers[i].digest;
  }
  printf("%s %u threads: %016" PRIx64 "\n", argv[1], threads, digest);
  return 0;
}
