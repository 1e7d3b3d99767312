// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a position that is subtracted from the same number in each iteration goes back and forth between two
// places; one from which a step is subtracted walks in order.
// RUN: %remarksxx -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// CHECK-DAG: base pages: {{.*}} in '{{.*}}mirrored{{.*}}': its address does not move
// CHECK-DAG: base pages: {{.*}} in '{{.*}}backwards{{.*}}': streamed
// CHECK-DAG: superpages{{.*}} in '{{.*}}drawn{{.*}}': picked at random through loaded indices
#include <cstdlib>
#define table(n) static_cast<double *>(std::malloc((n) * 8))
double mirrored(unsigned long n, long m, double width) {
  double *t = table(n), s = 0, at = 0;
  for (long i = 0; i < m; i++, at = width - at)
    s += t[static_cast<unsigned long>(at)]++;
  std::free(t);
  return s;
}
double backwards(unsigned long n, long m, double step) {
  double *t = table(n), s = 0, at = static_cast<double>(n);
  for (long i = 0; i < m; i++, at = at - step)
    s += t[static_cast<unsigned long>(at)]++;
  std::free(t);
  return s;
}
double drawn(unsigned long n, long m, const double *x) {
  double *t = table(n), s = 0, at = 0;
  for (long i = 0; i < m; i++, at = x[i] - at)
    s += t[static_cast<unsigned long>(at)]++;
  std::free(t);
  return s;
}
