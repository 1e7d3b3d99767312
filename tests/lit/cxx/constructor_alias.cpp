// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a constructor that is an alias of another is seen through: its call is the site of the array that it makes
// and fills.
// RUN: %remarksxx -mconstructor-aliases %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}}, at the first touch since every byte is written: table::table(long) of {{.*}}picked at random through loaded indices
struct table {
  double *values;
  long n;
  table(long n);
  double sum(const int *index, long m) const;
};
__attribute__((noinline)) table::table(long n) : values(new double[n]), n(n) {
  for (long i = 0; i < n; i++)
    values[i] = i;
}
__attribute__((noinline)) double table::sum(const int *index, long m) const {
  double s = 0;
  for (long i = 0; i < m; i++)
    s += values[index[i]];
  return s;
}
static table t(1000000);
double f(const int *index, long m) { return t.sum(index, m); }
