/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * floyd-warshall: three loops over one matrix */
#include "nest.h"

static void paths(long n, long lead, int *d) {
  for (long k = 0; k < n; k++)
    for (long i = 0; i < n; i++)
      for (long j = 0; j < n; j++) {
        int through = d[i * lead + k] + d[k * lead + j];
        d[i * lead + j] = d[i * lead + j] < through ? d[i * lead + j] : through;
      }
}

static void distances(long n, int *d) {
  for (long i = 0; i < n; i++)
    d[i] = (int)(i * 7 % 1000);
}

int main(void) {
  SIZE(n, 150);
  SIZE(lead, 4000);
  int *d = ARRAY(int, n *lead);
  distances(n * lead, d);
  paths(n, lead, d);
  USE(d[7]);
}
