/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * heap_stress: threads and processes allocate, free and fork at the same time. No object may lose a
 * byte, and no thread may hang.
 *   heap_stress exchange SCALE   threads allocate, resize and promote objects of every size and
 * free each other's
 *   heap_stress visitors SCALE   1000 threads (x SCALE) start and end; other threads find and free
 * their objects
 *   heap_stress forks SCALE      threads allocate while others fork, children fork again, all of
 * them allocate
 *   heap_stress migrate SCALE    heaps are frozen, migrated, promoted and demoted while threads
 * write and check
 *                                every byte of the objects in them
 * Every byte of an object follows from its number. The thread that frees an object checks all of
 * its bytes. */
#include "tests/integration/support/runtime_sites.h"
#include <sys/wait.h>

TEST_SITE(small, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 512);
TEST_SITE(big, SMALLOC_DECISION_RUNTIME, 0, 512);
TEST_SITE(dense, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
TEST_SITE(unknown, SMALLOC_DECISION_BASE, SMALLOC_SITE_UNDECIDED | SMALLOC_SITE_SMALL, 2048);
static struct smalloc_cell *const sites[] = {&small, &small, &unknown, &big, &dense};

struct object {
  size_t bytes;
  uint64_t number;
  struct object *next;
  unsigned char body[];
};
static uint64_t numbers;
static unsigned char byte_of(uint64_t number, size_t i) {
  return (unsigned char)(number * 31 + i * 7 + (i >> 12));
}

static struct object *make(struct smalloc_cell *site, size_t bytes) {
  struct object *o = (struct object *)site_malloc(site, sizeof *o + bytes);
  CHECK(o != NULL);
  o->bytes = bytes;
  o->number = __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED);
  for (size_t i = 0; i < bytes; i++)
    o->body[i] = byte_of(o->number, i);
  return o;
}
static void check_bytes(const struct object *o, size_t bytes) {
  for (size_t i = 0; i < bytes; i++)
    if (o->body[i] != byte_of(o->number, i)) {
      fprintf(stderr, "object %llu of %zu bytes: byte %zu is %u\n", (unsigned long long)o->number,
              o->bytes, i, o->body[i]);
      abort();
    }
}
static void unmake(struct object *o) {
  if (!o)
    return;
  check_bytes(o, o->bytes);
  free(o);
}
static struct object *resize(struct object *o, size_t bytes) {
  size_t had = o->bytes;
  o = (struct object *)realloc(o, sizeof *o + bytes);
  CHECK(o != NULL);
  check_bytes(o, had < bytes ? had : bytes);
  o->bytes = bytes;
  for (size_t i = had; i < bytes; i++)
    o->body[i] = byte_of(o->number, i);
  return o;
}
/* Mostly small, some in the classes without slabs, a few big. */
static size_t some_size(unsigned *seed) {
  int kind = rand_r(seed) % 400;
  return (size_t)rand_r(seed) % (kind < 360   ? 600
                                 : kind < 390 ? 12000
                                 : kind < 399 ? 200000
                                              : 5 * MIB);
}

enum { SLOTS = 256 };
static struct object *slot[SLOTS];
static struct object *exchange_object(unsigned *seed, struct object *o) {
  return __atomic_exchange_n(&slot[rand_r(seed) % SLOTS], o, __ATOMIC_ACQ_REL);
}
static void turn(unsigned *seed) {
  struct object *o = make(sites[rand_r(seed) % 5], some_size(seed));
  touching(o, 100000);
  o = exchange_object(seed, o);
  if (o && rand_r(seed) % 4 == 0)
    o = exchange_object(seed, resize(o, some_size(seed)));
  unmake(o);
}
static void empty_slots(void) {
  for (int i = 0; i < SLOTS; i++)
    unmake(__atomic_exchange_n(&slot[i], NULL, __ATOMIC_ACQ_REL));
}

static long turns;
static void *exchanger(void *seed_) {
  unsigned seed = (unsigned)(size_t)seed_;
  for (long i = 0; i < turns; i++) {
    turn(&seed);
    if (i % 20000 == 0)
      smalloc_trim();
  }
  return NULL;
}
static void exchange(long scale) {
  pthread_t t[8];
  turns = 6000 * scale;
  for (size_t i = 0; i < 8; i++)
    CHECK(pthread_create(&t[i], NULL, exchanger, (void *)(i + 1)) == 0);
  for (int i = 0; i < 8; i++)
    pthread_join(t[i], NULL);
  empty_slots();
}

/* A destructor of thread-local data that frees the thread's objects, and allocates once more. */
static pthread_key_t last_words;
static void say_last_words(void *kept) {
  struct object *o = (struct object *)kept, *next;
  for (; o; o = next)
    next = o->next, unmake(o);
  free(site_malloc(&small, 100));
}
static void *visitor(void *seed_) {
  unsigned seed = (unsigned)(size_t)seed_;
  struct object *kept = NULL;
  for (int i = 0; i < 60; i++)
    turn(&seed);
  for (int i = 0; i < 10; i++) {
    struct object *o = make(sites[i % 3], 1 + rand_r(&seed) % 2000);
    o->next = kept, kept = o;
  }
  CHECK(pthread_setspecific(last_words, kept) == 0);
  return NULL;
}
static void visitors(long scale) {
  enum { AT_ONCE = 50 };
  CHECK(pthread_key_create(&last_words, say_last_words) == 0);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 128 << 10);
  pthread_t t[AT_ONCE];
  for (long come = 0; come < 1000 * scale; come++) {
    if (come >= AT_ONCE)
      pthread_join(t[come % AT_ONCE], NULL);
    CHECK(pthread_create(&t[come % AT_ONCE], &attributes, visitor, (void *)(size_t)(come + 1)) ==
          0);
  }
  for (int i = 0; i < AT_ONCE; i++)
    pthread_join(t[i], NULL);
  empty_slots();
}

static volatile int stop;
static void *stormy(void *seed_) {
  unsigned seed = (unsigned)(size_t)seed_;
  while (!stop)
    turn(&seed);
  return NULL;
}
static void child_of(unsigned seed, int depth) {
  alarm(60);
  for (int i = 0; i < 40; i++)
    turn(&seed);
  if (depth) {
    pid_t grandchild = fork();
    CHECK(grandchild >= 0);
    if (grandchild == 0)
      child_of(seed + 1, depth - 1);
    int status;
    CHECK(waitpid(grandchild, &status, 0) == grandchild && status == 0);
  }
  for (int i = 0; i < 40; i++)
    turn(&seed);
  _exit(0);
}
static void *forker(void *seed_) {
  unsigned seed = (unsigned)(size_t)seed_;
  for (long i = 0; i < turns; i++) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
      child_of(seed + (unsigned)i, i % 5 == 0 ? 2 : 0);
    for (int k = 0; k < 10; k++)
      turn(&seed);
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  }
  return NULL;
}
static void forks(long scale) {
  pthread_t t[3], f[2];
  turns = 40 * scale;
  for (size_t i = 0; i < 3; i++)
    CHECK(pthread_create(&t[i], NULL, stormy, (void *)(i + 1)) == 0);
  for (size_t i = 0; i < 2; i++)
    CHECK(pthread_create(&f[i], NULL, forker, (void *)(i + 100)) == 0);
  for (int i = 0; i < 2; i++)
    pthread_join(f[i], NULL);
  stop = 1;
  for (int i = 0; i < 3; i++)
    pthread_join(t[i], NULL);
  empty_slots();
}

/* Words that a thread rewrites continually; each is a function of its place and the thread's round.
 * */
struct region {
  uint32_t *word;
  size_t words;
  long rounds;
};
static void *rewriter(void *region_) {
  struct region *r = (struct region *)region_;
  for (uint32_t round = 1; !stop || round < 3; round++) {
    for (size_t i = 0; i < r->words; i++) {
      if (round > 1 && r->word[i] != (uint32_t)i * 2654435761u + round - 1) {
        fprintf(stderr, "word %zu of %p is wrong in round %u\n", i, (void *)r->word, round);
        abort();
      }
      r->word[i] = (uint32_t)i * 2654435761u + round;
    }
    __atomic_store_n(&r->rounds, round, __ATOMIC_RELAXED);
  }
  return NULL;
}
static void migrate(long scale) {
  enum { THREADS = 3, SMALLS = 6000, SMALL_BYTES = 4096 };
  static struct object *base[SMALLS];
  struct region regions[THREADS] = {{0}};
  pthread_t t[THREADS];
  for (int i = 0; i < SMALLS; i++) { /* in the class heap: 24 MiB */
    base[i] = (struct object *)smalloc_malloc(sizeof *base[i] + SMALL_BYTES, SMALLOC_BASE);
    CHECK(base[i] && ours(base[i]));
    base[i]->bytes = SMALL_BYTES;
    base[i]->number = ++numbers;
    for (size_t k = 0; k < SMALL_BYTES; k++)
      base[i]->body[k] = byte_of(base[i]->number, k);
  }
  for (int i = 0; i < THREADS; i++) { /* with budget:40m they take superpages from each other */
    regions[i].words = 12 * MIB / 4;
    regions[i].word = (uint32_t *)site_malloc(&big, 12 * MIB);
    CHECK(ours(regions[i].word));
    CHECK(pthread_create(&t[i], NULL, rewriter, &regions[i]) == 0);
  }
  /* Memory that is not resident is too sparse for a superpage: no object would have to give one up.
   * */
  for (int i = 0; i < THREADS; i++)
    while (__atomic_load_n(&regions[i].rounds, __ATOMIC_RELAXED) == 0)
      usleep(1000);
  unsigned seed = 1;
  long migrated = 0;
  for (long round = 0; round < 300 * scale; round++) {
    for (int i = 0; i < THREADS; i++) {
      /* This object gains clearly more than any before. */
      uint64_t gain = (uint64_t)20000 << 2 * (round / 20 % 12);
      for (int k = 0; k < 4; k++)
        touching(regions[i].word, i == round / 20 % THREADS ? gain : 1000);
    }
    if (round % 30 == 10)
      migrated = smalloc_heap_migrate();
    if (round % 100 == 99)
      smalloc_trim();
    turn(&seed);
  }
  stop = 1;
  for (int i = 0; i < THREADS; i++)
    pthread_join(t[i], NULL);
  struct smalloc_statistics s = {.bytes = sizeof s};
  smalloc_stats(&s);
  printf("migrated %ld, promotions %llu\n", migrated, (unsigned long long)s.promotions);
  for (int i = 0; i < THREADS; i++) {
    CHECK(regions[i].rounds >= 2);
    for (size_t k = 0; k < regions[i].words; k++)
      CHECK(regions[i].word[k] == (uint32_t)k * 2654435761u + (uint32_t)regions[i].rounds);
    free(regions[i].word);
  }
  for (int i = 0; i < SMALLS; i++)
    unmake(base[i]);
  empty_slots();
}

int main(int argc, char **argv) {
  if (argc != 3)
    return fprintf(stderr, "usage: heap_stress exchange|visitors|forks|migrate SCALE\n"), 2;
  long scale = atol(argv[2]);
  warm_up(&small), warm_up(&unknown);
  if (!strcmp(argv[1], "exchange"))
    exchange(scale);
  else if (!strcmp(argv[1], "visitors"))
    visitors(scale);
  else if (!strcmp(argv[1], "forks"))
    forks(scale);
  else if (!strcmp(argv[1], "migrate"))
    migrate(scale);
  else
    return 2;
  struct smalloc_statistics s = {.bytes = sizeof s};
  smalloc_stats(&s);
  CHECK(s.big_objects_now == 0 && s.big_bytes_now == 0);
  printf("%s: %llu objects, all bytes right\n", argv[1], (unsigned long long)numbers);
  return 0;
}
