/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * nest.h: sizes of the oracle's programs, constant or (-DNEST_SYMBOLIC) known at run time only.
 * One allocation a line, each nest in its own function: these identify them for the oracle. */
#ifndef NEST_H
#define NEST_H

#include <stdlib.h>

#ifdef NEST_SYMBOLIC
static volatile long nest_opaque;
#define SIZE(name, value) const long name = (nest_opaque = (value), nest_opaque)
#else
#define SIZE(name, value) const long name = (value)
#endif

/* Keeps the program's result from being optimised away. */
static volatile double nest_sink;
#define USE(x) (nest_sink = (double)(x))

/* The tracer simulates prefetches, too. */
#ifndef PREFETCH
#define PREFETCH(address) __builtin_prefetch(address)
#endif

#define ARRAY(type, count) ((type *)malloc((size_t)(count) * sizeof(type)))

static inline void fill(double *a, long n) {
  for (long i = 0; i < n; i++)
    a[i] = (double)(i & 1023) + 1;
}

static inline unsigned next_random(unsigned s) {
  s ^= s << 13;
  s ^= s >> 17;
  s ^= s << 5;
  return s;
}

static inline void fill_random(unsigned *a, long n, unsigned range) {
  unsigned s = 2463534242u;
  for (long i = 0; i < n; i++) {
    s = next_random(s);
    a[i] = s % range;
  }
}

#endif
