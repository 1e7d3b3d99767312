// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mixed: one program with sites that need superpages beside sites that must not get them. One page
// size for the heap is wrong for some; so is a choice by size, since the largest object is cold.
//
//   site                 size (default)          use
//   field                1 GiB                   hot: updated at random
//   struct event         8 million x 48 bytes    hot: lists grown in turn, then walked
//   archive              1.5 GiB                 cold: one page in 64 is written, once
//   struct label         2 million, 64-199 bytes cold: written once, read once
//   rates                256 MiB of double       hot: gathered at random
//   history              256 MiB of double       cold: one value for each 64 pages; same size and type as rates
//
// The output depends only on the arguments: all page-size choices must print the same. shuffle.py writes variants of
// this file with functions and allocations in another order.
//   mixed [--quick | percent of the default sizes]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct event {
  struct event *next;
  uint64_t id;
  double value[4];
};

struct label {
  uint16_t length;
  char text[];
};

struct world {
  double *field;
  size_t cells;
  struct event **queues;
  size_t queue_count, events;
  unsigned char *archive;
  size_t archive_bytes;
  struct label **labels;
  size_t label_count;
  double *rates, *history;
  size_t rate_count;
};

static uint64_t mix(uint64_t x);
static size_t below(uint64_t random, size_t n);
static void *checked(void *p);
static void lap(const char *what);
static void field_new(struct world *w);
static void events_new(struct world *w);
static void archive_new(struct world *w);
static void labels_new(struct world *w);
static void rates_new(struct world *w);
static void history_new(struct world *w);
static void field_update(struct world *w, uint64_t updates);
static double events_walk(const struct world *w);
static double rates_gather(const struct world *w, uint64_t samples);
static void archive_store(struct world *w, uint64_t record, double value);
static uint64_t archive_checksum(const struct world *w);
static uint64_t labels_checksum(const struct world *w);
static void history_note(struct world *w, uint64_t slot, double value);
static double history_sum(const struct world *w);

enum { kArchiveRecord = 64 * 4096, kHistoryStep = 64 * 4096 / sizeof(double), kQueues = 65536 };

int main(int argc, char **argv) {
  size_t percent = 100;
  if (argc > 1)
    percent = strcmp(argv[1], "--quick") == 0 ? 50 : strtoull(argv[1], NULL, 10);
  if (percent < 1 || argc > 2) {
    fprintf(stderr, "usage: mixed [--quick | percent]\n");
    return 2;
  }
  struct world w = {0};
  w.cells = ((size_t)1 << 27) / 100 * percent;
  w.events = 80000 * percent;
  w.queue_count = kQueues;
  w.archive_bytes = (size_t)kArchiveRecord * (60 * percent);
  w.label_count = 20000 * percent;
  w.rate_count = ((size_t)1 << 25) / 100 * percent;
  // shuffle: begin
  history_new(&w);
  archive_new(&w);
  field_new(&w);
  labels_new(&w);
  events_new(&w);
  rates_new(&w);
  // shuffle: end
  lap("set up");
  double energy = 0;
  for (int step = 0; step < 3; step++) {
    field_update(&w, 70000 * percent);
    energy += events_walk(&w);
    energy += rates_gather(&w, 50000 * percent);
    for (uint64_t i = 0; i < w.archive_bytes / kArchiveRecord / 3; i++)
      archive_store(&w, 3 * i + (uint64_t)step, energy);
    history_note(&w, (uint64_t)step, energy);
  }
  lap("steps");
  double total = 0;
  for (size_t i = 0; i < w.cells; i += 509)
    total += w.field[i];
  printf("energy %.6e\nfield %.6e\nhistory %.6e\narchive %016llx\nlabels %016llx\n", energy, total,
         history_sum(&w), (unsigned long long)archive_checksum(&w),
         (unsigned long long)labels_checksum(&w));
  lap("check");
  return 0;
}

// part: helpers
static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static size_t below(uint64_t random, size_t n) {
  return (size_t)((unsigned __int128)random * n >> 64);
}

static void *checked(void *p) {
  if (!p) {
    perror("mixed");
    exit(1);
  }
  return p;
}

static void lap(const char *what) {
  static struct timespec last;
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  fprintf(stderr, "%s %.2f s\n", what,
          (double)(now.tv_sec - last.tv_sec) + (double)(now.tv_nsec - last.tv_nsec) * 1e-9);
  last = now;
}

// part: field
static void field_new(struct world *w) {
  w->field = checked(malloc(w->cells * sizeof *w->field));
  for (size_t i = 0; i < w->cells; i++)
    w->field[i] = (double)(i & 1023);
}

static void field_update(struct world *w, uint64_t updates) {
  size_t at = 1;
  for (uint64_t i = 0; i < updates; i++) { // the next place depends on the value found
    double value = w->field[at];
    w->field[at] = 0.5 * value + 1;
    at = below(mix(at + i + (uint64_t)value), w->cells);
  }
}

// part: events
static void events_new(struct world *w) {
  w->queues = checked(calloc(w->queue_count, sizeof *w->queues));
  for (size_t i = 0; i < w->events; i++) {
    struct event *e = checked(malloc(sizeof *e));
    struct event **queue = &w->queues[mix(i) % w->queue_count];
    e->id = i;
    for (int k = 0; k < 4; k++)
      e->value[k] = (double)((i + (size_t)k) % 1000);
    e->next = *queue;
    *queue = e;
  }
}

static double events_walk(const struct world *w) {
  double sum = 0;
  for (size_t q = 0; q < w->queue_count; q++)
    for (const struct event *e = w->queues[q]; e; e = e->next)
      sum += e->value[e->id & 3];
  return sum;
}

// part: archive
static void archive_new(struct world *w) { w->archive = checked(malloc(w->archive_bytes)); }

static void archive_store(struct world *w, uint64_t record, double value) {
  unsigned char *at = w->archive + record * kArchiveRecord;
  memcpy(at, &record, sizeof record);
  memcpy(at + sizeof record, &value, sizeof value);
}

static uint64_t archive_checksum(const struct world *w) {
  uint64_t sum = 0;
  for (size_t i = 0; i < w->archive_bytes / kArchiveRecord / 3 * 3; i++) {
    uint64_t pair[2];
    memcpy(pair, w->archive + i * kArchiveRecord, sizeof pair);
    sum = sum * 31 + pair[0] + pair[1];
  }
  return sum;
}

// part: labels
static void labels_new(struct world *w) {
  w->labels = checked(malloc(w->label_count * sizeof *w->labels));
  for (size_t i = 0; i < w->label_count; i++) {
    size_t length = 62 + mix(i) % 136;
    struct label *l = checked(malloc(sizeof *l + length));
    l->length = (uint16_t)length;
    memset(l->text, 'a' + (int)(i % 26), length);
    w->labels[i] = l;
  }
}

static uint64_t labels_checksum(const struct world *w) {
  uint64_t sum = 0;
  for (size_t i = 0; i < w->label_count; i++)
    sum = sum * 31 + (unsigned char)w->labels[i]->text[w->labels[i]->length - 1];
  return sum;
}

// part: rates
static void rates_new(struct world *w) {
  w->rates = checked(malloc(w->rate_count * sizeof *w->rates));
  for (size_t i = 0; i < w->rate_count; i++)
    w->rates[i] = (double)(i % 251) * 1e-3;
}

static double rates_gather(const struct world *w, uint64_t samples) {
  double sum = 0;
  size_t at = 7;
  for (uint64_t i = 0; i < samples; i++) {
    at = below(mix(at + i), w->rate_count);
    sum += w->rates[at];
  }
  return sum;
}

// part: history
static void history_new(struct world *w) {
  w->history = checked(malloc(w->rate_count * sizeof *w->history));
}

static void history_note(struct world *w, uint64_t slot, double value) {
  for (size_t i = slot * kHistoryStep; i < w->rate_count; i += 3 * kHistoryStep)
    w->history[i] = value + (double)i;
}

static double history_sum(const struct world *w) {
  double sum = 0;
  for (size_t i = 0; i < w->rate_count; i += kHistoryStep)
    sum += w->history[i];
  return sum;
}
