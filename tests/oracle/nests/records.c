/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * one field of large records, several times */
#include "nest.h"

struct record {
  double key, value;
  char rest[3984];
};

static double sums(long rounds, long n, const struct record *r) {
  double s = 0;
  for (long k = 0; k < rounds; k++)
    for (long i = 0; i < n; i++)
      s += r[i].key * (double)k + r[i].value;
  return s;
}

static void fill_records(long n, struct record *r) {
  for (long i = 0; i < n; i++) {
    r[i].key = (double)i;
    r[i].value = 2;
  }
}

int main(void) {
  SIZE(rounds, 100);
  SIZE(n, 2000);
  struct record *r = ARRAY(struct record, n);
  fill_records(n, r);
  USE(sums(rounds, n, r));
}
