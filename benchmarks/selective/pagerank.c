// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// pagerank: ranks of a random graph in compressed form, pulled over incoming edges. The edges take
// most of the memory and are read in order; the ranks, a few hundredths, are read at random.
//   pagerank [log2 of the vertices] [edges a vertex] [iterations]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct graph {
  size_t vertices, degree;
  uint32_t *source; // of each incoming edge
};

static void *allocate(size_t bytes) {
  void *p = malloc(bytes);
  if (!p) {
    perror("pagerank");
    exit(1);
  }
  return p;
}

static void make_edges(struct graph *g) {
  uint64_t x = 88172645463325252u;
  g->source = allocate(g->vertices * g->degree * sizeof *g->source);
  for (size_t i = 0; i < g->vertices * g->degree; i++) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    g->source[i] = (uint32_t)(x >> 20) & (uint32_t)(g->vertices - 1);
  }
}

static float *make_ranks(size_t vertices) {
  float *rank = allocate(vertices * sizeof *rank);
  for (size_t v = 0; v < vertices; v++)
    rank[v] = 1;
  return rank;
}

static void iterate(const struct graph *g, const float *rank, float *next) {
  for (size_t v = 0; v < g->vertices; v++) {
    float sum = 0;
    for (size_t e = v * g->degree; e < (v + 1) * g->degree; e++)
      sum += rank[g->source[e]];
    next[v] = 0.15f + 0.85f * sum / (float)g->degree;
  }
}

int main(int argc, char **argv) {
  struct graph g = {(size_t)1 << (argc > 1 ? atoi(argv[1]) : 22),
                    argc > 2 ? strtoull(argv[2], NULL, 10) : 56, NULL};
  size_t iterations = argc > 3 ? strtoull(argv[3], NULL, 10) : 3;
  make_edges(&g);
  float *rank = make_ranks(g.vertices), *next = allocate(g.vertices * sizeof *next);
  for (size_t i = 0; i < iterations; i++) {
    iterate(&g, rank, next);
    float *previous = rank;
    rank = next;
    next = previous;
  }
  double sum = 0;
  for (size_t v = 0; v < g.vertices; v++)
    sum += rank[v];
  printf("pagerank vertices=%zu edges=%zu sum=%.3f\n", g.vertices, g.vertices * g.degree, sum);
  free(g.source);
  free(rank);
  free(next);
  return 0;
}
