/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * nussinov: dynamic programming over a triangle, backwards */
#include "nest.h"

static void fold(long n, long lead, const char *sequence, int *table) {
  for (long i = n - 1; i >= 0; i--)
    for (long j = i + 1; j < n; j++) {
      int best = table[i * lead + j];
      if (table[i * lead + j - 1] > best)
        best = table[i * lead + j - 1];
      if (i + 1 < n && table[(i + 1) * lead + j] > best)
        best = table[(i + 1) * lead + j];
      if (i + 1 < n && table[(i + 1) * lead + j - 1] + (sequence[i] + sequence[j] == 3) > best)
        best = table[(i + 1) * lead + j - 1] + (sequence[i] + sequence[j] == 3);
      for (long k = i + 1; k < j; k++)
        if (table[i * lead + k] + table[(k + 1) * lead + j] > best)
          best = table[i * lead + k] + table[(k + 1) * lead + j];
      table[i * lead + j] = best;
    }
}

static void letters(long n, char *sequence) {
  for (long i = 0; i < n; i++)
    sequence[i] = (char)((i * 7 + 1) % 4);
}

static void zero(long n, int *table) {
  for (long i = 0; i < n; i++)
    table[i] = (int)(i & 1);
}

int main(void) {
  SIZE(n, 300);
  SIZE(lead, 2000);
  char *sequence = ARRAY(char, n);
  int *table = ARRAY(int, n *lead);
  letters(n, sequence);
  zero(n * lead, table);
  fold(n, lead, sequence, table);
  USE(table[7]);
}
