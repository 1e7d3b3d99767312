/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * merge sort from the bottom up: two streams in, one out, of growing length */
#include "nest.h"

static void merge(long n, unsigned *a, unsigned *b) {
  for (long width = 1; width < n; width *= 2) {
    for (long i = 0; i < n; i += 2 * width) {
      long left = i, right = i + width < n ? i + width : n,
           end = i + 2 * width < n ? i + 2 * width : n;
      long middle = right;
      for (long k = i; k < end; k++)
        if (left < middle && (right >= end || a[left] <= a[right]))
          b[k] = a[left++];
        else
          b[k] = a[right++];
    }
    for (long i = 0; i < n; i++)
      a[i] = b[i];
  }
}

int main(void) {
  SIZE(n, 1 << 18);
  unsigned *a = ARRAY(unsigned, 4 * n);
  unsigned *b = ARRAY(unsigned, 4 * n);
  fill_random(a, n, 1u << 30);
  merge(n, a, b);
  USE(a[7]);
}
