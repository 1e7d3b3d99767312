// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an index computed in floating point moves as the numbers that it is
// computed from: loaded ones pick at random, those of a generator as well, a position that grows by
// a step walks in order, and a scaled coordinate times the row length walks across rows.
// RUN: %remarksxx -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// CHECK-DAG: superpages{{.*}} in '{{.*}}deposit{{.*}}': picked at random through loaded indices
// CHECK-DAG: superpages{{.*}} in '{{.*}}floored{{.*}}': picked at random through loaded indices
// CHECK-DAG: superpages{{.*}} in '{{.*}}sampled{{.*}}': picked at random through computed indices
// CHECK-DAG: superpages{{.*}} in '{{.*}}hashed{{.*}}': picked at random through computed indices
// CHECK-DAG: base pages: {{.*}} in '{{.*}}resampled{{.*}}': streamed
// CHECK-DAG: base pages: {{.*}} in '{{.*}}scaled{{.*}}': streamed
// CHECK-DAG: superpages{{.*}} in '{{.*}}columns{{.*}}': walked across rows
// CHECK-DAG: base pages: {{.*}} in '{{.*}}fixed{{.*}}': its address does not move
#include <cmath>
#include <cstdlib>
double random_number();
#define table(n) static_cast<double *>(std::malloc((n) * 8))
double deposit(unsigned long n, const float *x, long m, float inverse) {
  double *t = table(n), s = 0;
  for (long i = 0; i < m; i++)
    s += t[static_cast<int>((x[i] - 1.0f) * inverse)]++;
  std::free(t);
  return s;
}
double floored(unsigned long n, const double *x, long m, int width, double scale) {
  double *t = table(n), s = 0;
  for (long i = 0; i < m; i++) {
    const int row = static_cast<int>(std::floor(x[2 * i] / scale));
    const int column = static_cast<int>(std::floor(x[2 * i + 1] / scale));
    s += t[static_cast<long>(row) * width + column]++;
  }
  std::free(t);
  return s;
}
double sampled(unsigned long n, long m) {
  double *t = table(n), s = 0;
  for (long i = 0; i < m; i++)
    s += t[static_cast<unsigned long>(random_number() * n)]++;
  std::free(t);
  return s;
}
double hashed(unsigned long n, long m) {
  double *t = table(n), s = 0;
  for (long i = 0; i < m; i++)
    s += t[static_cast<unsigned long>(std::fabs(std::sin(static_cast<double>(i))) * n)]++;
  std::free(t);
  return s;
}
double resampled(unsigned long n, long m, double step) {
  double *t = table(n), s = 0, at = 0;
  for (long i = 0; i < m; i++, at += step)
    s += t[static_cast<unsigned long>(at)]++;
  std::free(t);
  return s;
}
double scaled(unsigned long n, long m, double scale) {
  double *t = table(n), s = 0;
  for (long i = 0; i < m; i++)
    s += t[static_cast<long>(std::floor(i * scale + 0.5))]++;
  std::free(t);
  return s;
}
double columns(unsigned long n, int rows, int width, float scale) {
  double *t = table(n), s = 0;
  for (int x = 0; x < width; x++)
    for (int y = 0; y < rows; y++)
      s += t[static_cast<long>(y * scale) * width + x]++;
  std::free(t);
  return s;
}
double fixed(unsigned long n, long m, double place) {
  double *t = table(n), s = 0;
  for (long i = 0; i < m; i++)
    s += random_number() * t[static_cast<long>(place * 2)]++;
  std::free(t);
  return s;
}
