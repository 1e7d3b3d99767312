/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * a sort: counts, running sums, then a scatter to where they say */
#include "nest.h"

static void count(long n, const unsigned *key, unsigned *place) {
  for (long i = 0; i < n; i++)
    place[key[i]]++;
}

static void running(long n, unsigned *place) {
  unsigned s = 0;
  for (long i = 0; i < n; i++) {
    unsigned t = place[i];
    place[i] = s;
    s += t;
  }
}

static void scatter(long n, const unsigned *key, unsigned *place, unsigned *out) {
  for (long i = 0; i < n; i++)
    out[place[key[i]]++] = key[i];
}

static void zero(long n, unsigned *place) {
  for (long i = 0; i < n; i++)
    place[i] = 0;
}

int main(void) {
  SIZE(n, 1 << 20);
  SIZE(range, 1 << 19);
  unsigned *key = ARRAY(unsigned, n);
  unsigned *place = ARRAY(unsigned, range);
  unsigned *out = ARRAY(unsigned, n);
  fill_random(key, n, (unsigned)range);
  zero(range, place);
  count(n, key, place);
  running(range, place);
  scatter(n, key, place, out);
  USE(out[7]);
}
