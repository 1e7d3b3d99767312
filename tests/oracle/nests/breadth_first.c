/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * breadth-first search over a random graph */
#include "nest.h"

static long search(const unsigned *start, const unsigned *edge, unsigned *depth, unsigned *queue) {
  long head = 0, tail = 0;
  queue[tail++] = 0;
  depth[0] = 1;
  while (head < tail) {
    unsigned u = queue[head++];
    for (unsigned k = start[u]; k < start[u + 1]; k++) {
      unsigned v = edge[k];
      if (!depth[v]) {
        depth[v] = depth[u] + 1;
        queue[tail++] = v;
      }
    }
  }
  return tail;
}

static void vertices(long n, unsigned *start, unsigned *depth) {
  for (long i = 0; i < n; i++) {
    start[i] = (unsigned)i * 8;
    depth[i] = 0;
  }
  start[n] = (unsigned)n * 8;
}

int main(void) {
  SIZE(n, 1 << 20);
  unsigned *start = ARRAY(unsigned, n + 1);
  unsigned *edge = ARRAY(unsigned, n * 8);
  unsigned *depth = ARRAY(unsigned, n);
  unsigned *queue = ARRAY(unsigned, n);
  vertices(n, start, depth);
  fill_random(edge, n * 8, (unsigned)n);
  USE(search(start, edge, depth, queue));
}
