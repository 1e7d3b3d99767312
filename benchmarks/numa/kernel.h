// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.h: shared by the seven NUMA kernels: arguments (SIZE STEPS [parallel]), arrays, and the
// initialisation. One thread initialises all data, so first touch puts it all on that thread's
// node; with "parallel" each thread initialises its own. Each kernel checks its result against
// mathematics, prints one line, and exits with 1 if it is wrong.
#ifndef BENCHMARKS_NUMA_KERNEL_H
#define BENCHMARKS_NUMA_KERNEL_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  int size, steps, parallel;
} arguments;

static inline arguments parse(int argc, char **argv, int size, int steps, int least_size) {
  arguments a = {argc > 1 ? atoi(argv[1]) : size, argc > 2 ? atoi(argv[2]) : steps,
                 argc > 3 && strcmp(argv[3], "parallel") == 0};
  if (a.size < least_size || a.steps < 1) {
    fprintf(stderr, "usage: %s [SIZE >= %d] [STEPS >= 1] [serial|parallel]\n", argv[0], least_size);
    exit(2);
  }
  return a;
}

static inline void *array(size_t count, size_t bytes) {
  void *p = malloc(count * bytes);
  if (!p) {
    fprintf(stderr, "out of memory: %zu bytes\n", count * bytes);
    exit(1);
  }
  return p;
}

static inline int report(const char *name, double error, double most) {
  int good = error <= most; // false for NaN too
  printf("%s: error %.3g, at most %.3g: %s\n", name, error, most, good ? "verified" : "WRONG");
  return good ? 0 : 1;
}

// Eigenvalue of the second difference with fixed ends for the lowest mode: sin(pi (i+1) / (n+1)).
static inline double lowest_eigenvalue(int n) {
  double s = sin(M_PI / (2.0 * (n + 1)));
  return 4 * s * s;
}
static inline double lowest_mode(int i, int n) { return sin(M_PI * (i + 1) / (n + 1)); }

// A small generator that every thread can start anywhere: splitmix64.
static inline double random_at(unsigned long long i) {
  i += 0x9e3779b97f4a7c15ull;
  i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9ull;
  i = (i ^ (i >> 27)) * 0x94d049bb133111ebull;
  return (double)((i ^ (i >> 31)) >> 11) * 0x1p-53;
}

#endif
