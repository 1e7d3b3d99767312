// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// bfs: top-down breadth-first search on an R-MAT graph in CSR (Chakrabarti 2004; .57 .19 .19).
// Vertices are read at random by neighbour; the neighbour array in short runs at random places.
//   bfs [log2 of the vertices] [edges for each vertex] [searches]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kUnseen = -1 };

struct vertex {
  uint64_t first; // index of the first neighbour
  int32_t parent;
  int32_t depth;
};

struct graph {
  uint32_t vertices;
  uint64_t edges;
  struct vertex *vertex; // vertices + 1
  uint32_t *neighbour;
};

static uint64_t state = 2026;
static uint64_t draw(void) {
  uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static void *xmalloc(size_t bytes) {
  void *p = malloc(bytes);
  if (!p) {
    perror("bfs");
    exit(1);
  }
  return p;
}

static void rmat_edge(unsigned scale, uint32_t *from, uint32_t *to) {
  uint32_t u = 0, v = 0;
  uint64_t bits = 0;
  for (unsigned level = 0; level < scale; level++) {
    if (level % 8 == 0)
      bits = draw();
    unsigned quadrant = (unsigned)(bits & 255);
    bits >>= 8;
    u = 2 * u + (quadrant >= 195);                                        // 0.76
    v = 2 * v + ((quadrant >= 146 && quadrant < 195) || quadrant >= 243); // 0.57, 0.19, 0.19, 0.05
  }
  uint32_t mask = (uint32_t)((1ull << scale) - 1); // scatter the degrees over the numbers
  *from = (u * 0x9e3779b1u) & mask;
  *to = (v * 0x9e3779b1u) & mask;
}

static void build(struct graph *g, unsigned scale, uint64_t per_vertex) {
  g->vertices = (uint32_t)1 << scale;
  g->edges = g->vertices * per_vertex;
  uint32_t *pairs = xmalloc(2 * g->edges * sizeof *pairs);
  g->vertex = xmalloc((g->vertices + 1ull) * sizeof *g->vertex);
  g->neighbour = xmalloc(2 * g->edges * sizeof *g->neighbour);
  for (uint64_t v = 0; v <= g->vertices; v++)
    g->vertex[v] = (struct vertex){0, kUnseen, 0};
  for (uint64_t e = 0; e < g->edges; e++) {
    rmat_edge(scale, &pairs[2 * e], &pairs[2 * e + 1]);
    g->vertex[pairs[2 * e]].first++;
    g->vertex[pairs[2 * e + 1]].first++;
  }
  uint64_t sum = 0;
  for (uint64_t v = 0; v <= g->vertices; v++) {
    sum += g->vertex[v].first;
    g->vertex[v].first = sum; // the end of v's run; filling moves it to the beginning
  }
  for (uint64_t e = 0; e < g->edges; e++) {
    uint32_t u = pairs[2 * e], v = pairs[2 * e + 1];
    g->neighbour[--g->vertex[u].first] = v;
    g->neighbour[--g->vertex[v].first] = u;
  }
  free(pairs);
}

static uint64_t search(struct graph *g, uint32_t root, uint32_t *queue) {
  uint64_t head = 0, tail = 0, depths = 0;
  for (uint64_t v = 0; v < g->vertices; v++)
    g->vertex[v].parent = kUnseen;
  g->vertex[root].parent = (int32_t)root;
  g->vertex[root].depth = 0;
  queue[tail++] = root;
  while (head < tail) {
    uint32_t u = queue[head++];
    depths += (uint64_t)g->vertex[u].depth;
    for (uint64_t k = g->vertex[u].first; k < g->vertex[u + 1].first; k++) {
      struct vertex *w = &g->vertex[g->neighbour[k]];
      if (w->parent == kUnseen) {
        w->parent = (int32_t)u;
        w->depth = g->vertex[u].depth + 1;
        queue[tail++] = g->neighbour[k];
      }
    }
  }
  printf("search root=%u reached=%llu depths=%llu\n", root, (unsigned long long)tail,
         (unsigned long long)depths);
  return tail;
}

int main(int argc, char **argv) {
  unsigned scale = argc > 1 ? (unsigned)atoi(argv[1]) : 23;
  uint64_t per_vertex = argc > 2 ? strtoull(argv[2], NULL, 10) : 4;
  int searches = argc > 3 ? atoi(argv[3]) : 1;
  struct graph g;
  build(&g, scale, per_vertex);
  uint32_t *queue = xmalloc(g.vertices * sizeof *queue);
  uint64_t reached = 0;
  for (int i = 0; i < searches; i++) {
    uint32_t root;
    do
      root = (uint32_t)(draw() % g.vertices);
    while (g.vertex[root].first == g.vertex[root + 1].first);
    reached += search(&g, root, queue);
  }
  printf("bfs vertices=%u edges=%llu reached=%llu\n", g.vertices, (unsigned long long)g.edges,
         (unsigned long long)reached);
  free(queue);
  free(g.neighbour);
  free(g.vertex);
  return 0;
}
