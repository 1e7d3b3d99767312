/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * dynamic programming: three neighbours, row by row */
#include "nest.h"

static void distance(long n, const char *a, const char *b, int *d) {
  for (long i = 1; i < n; i++)
    for (long j = 1; j < n; j++) {
      int change = d[(i - 1) * n + j - 1] + (a[i] != b[j]);
      int drop = d[(i - 1) * n + j] + 1, add = d[i * n + j - 1] + 1;
      int best = change < drop ? change : drop;
      d[i * n + j] = best < add ? best : add;
    }
}

static void text(long n, char *a, unsigned seed) {
  for (long i = 0; i < n; i++) {
    seed = next_random(seed);
    a[i] = (char)(seed % 20);
  }
}

static void borders(long n, int *d) {
  for (long i = 0; i < n; i++) {
    d[i] = (int)i;
    d[i * n] = (int)i;
  }
}

int main(void) {
  SIZE(n, 1500);
  char *a = ARRAY(char, n);
  char *b = ARRAY(char, n);
  int *d = ARRAY(int, n *n);
  text(n, a, 1);
  text(n, b, 2);
  borders(n, d);
  distance(n, a, b, d);
  USE(d[n * n - 1]);
}
