// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an array captured by a lambda is found in its body.
// RUN: %remarksxx %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}}: new[] of {{.*}}picked at random through loaded indices
template <class F> __attribute__((noinline)) static double sum(long m, F get) {
  double s = 0;
  for (long i = 0; i < m; i++)
    s += get(i);
  return s;
}
double f(long n, const int *index, long m) {
  double *a = new double[n];
  for (long i = 0; i < n; i++)
    a[i] = i;
  double s = sum(m, [&](long i) { return a[index[i]]; });
  delete[] a;
  return s;
}
