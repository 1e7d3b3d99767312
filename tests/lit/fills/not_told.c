// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: nothing is told before loops that write less than a superpage, under a condition, to memory that is
// not the heap's, or whose count is not known; before updates at random places, before an update in an outer loop, and before an
// outer loop that goes over the same places again; nor for small code, an instrumented build, or heap=off.
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s
// RUN: %clang -Os -DALL -S -emit-llvm -o - %s | FileCheck %s
// RUN: %clang -O2 -DALL -fplugin-arg-smalloc-heap=off -S -emit-llvm -o - %s | FileCheck %s
// CHECK-NOT: @__smalloc_v1_{{ask_filling|large_fill}}
#ifdef ALL
void upwards(double *a, double by, long n) {
  for (long i = 0; i < n; i++)
    a[i] = i * by;
}
#endif
void few(double *a, double by) {
  for (long i = 0; i < 10000; i++)
    a[i] = i * by;
}
void some(double *restrict a, const double *restrict b, long n) {
  for (long i = 0; i < n; i++)
    if (b[i] > 0.5)
      a[i] += b[i];
}
static double statics[1 << 20];
double of_static(long n, long at) {
  for (long i = 0; i < n; i++)
    statics[i] = n * 0.5 + i;
  return statics[at];
}
double variable(long n, long at) {
  double a[n];
  for (long i = 0; i < n; i++)
    a[i] = i * 0.5 + n;
  return a[at];
}
void until_zero(long *restrict to, const long *restrict from) {
  while ((*to++ = *from++))
    ;
}
void histogram(unsigned *restrict count, const unsigned long *restrict key, long n, unsigned long mask) {
  for (long i = 0; i < n; i++)
    count[(key[i] * 0x9e3779b97f4a7c15ul >> 7) & mask]++;
}
void same_places(double *restrict a, const int *restrict at, long steps) {
  for (long step = 0; step < steps; step++)
    for (long i = 0; i < 1000; i++)
      a[at[i]] = (double)(step * i);
}
void in_place(double *restrict a, const double *restrict w, long n) {
  for (long half = 1; half < n; half *= 2)
    for (long i = 0; i < n; i += 2 * half)
      for (long j = 0; j < half; j++) {
        const double u = a[i + j], v = a[i + j + half] * w[j * (n / half)];
        a[i + j] = u + v;
        a[i + j + half] = u - v;
      }
}
