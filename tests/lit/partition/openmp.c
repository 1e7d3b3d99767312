// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an object that static OpenMP loops divide along its leading dimension is known, and no other.
// RUN: %clang -O2 -fopenmp=libomp -c -o /dev/null -fplugin-arg-smalloc-numa=hints -fplugin-arg-smalloc-sites=%t %s
// RUN: cat %t/*.json | %python -c "import json,sys; d=json.load(sys.stdin); [print(s['function'], s['partitioned']) for s in sorted(d['sites'], key=lambda s: s['line'])]" | FileCheck %s
#include <stdlib.h>
void use(double *);

// CHECK: one_dimension True
void one_dimension(long n) {
  double *a = malloc(n * sizeof(double));
  for (long i = 0; i < n; i++) // serial: says nothing
    a[i] = i;
#pragma omp parallel for
  for (long i = 0; i < n; i++)
    a[i] *= 2;
  use(a);
}
// CHECK: rows True
void rows(long n, long m) {
  double *a = malloc(n * m * sizeof(double));
#pragma omp parallel for schedule(static)
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++)
      a[i * m + j] += j;
  use(a);
}
// CHECK: stencil True
void stencil(int n) {
  double *a = malloc((size_t)n * 512 * sizeof(double));
#pragma omp parallel for
  for (int i = 1; i < n - 1; i++)
    for (int j = 0; j < 512; j++)
      a[(size_t)i * 512 + j] += a[(size_t)(i - 1) * 512 + j] + a[(size_t)(i + 1) * 512 + j];
  use(a);
}
// CHECK: columns False
void columns(long n, long m) {
  double *a = malloc(n * m * sizeof(double));
#pragma omp parallel for
  for (long j = 0; j < m; j++)
    for (long i = 0; i < n; i++)
      a[i * m + j] += i;
  use(a);
}
// CHECK: gathered False
void gathered(long n, const int *x) {
  double *a = malloc(n * sizeof(double));
#pragma omp parallel for
  for (long i = 0; i < n; i++)
    a[x[i]] += i;
  use(a);
}
// CHECK: dynamic False
void dynamic(long n) {
  double *a = malloc(n * sizeof(double));
#pragma omp parallel for schedule(dynamic, 64)
  for (long i = 0; i < n; i++)
    a[i] += i;
  use(a);
}
// CHECK: chunked False
void chunked(long n) {
  double *a = malloc(n * sizeof(double));
#pragma omp parallel for schedule(static, 8)
  for (long i = 0; i < n; i++)
    a[i] += i;
  use(a);
}
// CHECK: everybody_reads_all False
double everybody_reads_all(long n, long m, double *out) {
  double *a = malloc(n * sizeof(double));
  use(a);
#pragma omp parallel for
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++)
      out[i] += a[j];
  return out[0];
}
// CHECK: serial_only False
void serial_only(long n) {
  double *a = malloc(n * sizeof(double));
  for (long i = 0; i < n; i++)
    a[i] = i;
  use(a);
}
// CHECK: small False
void small(void) {
  double *a = malloc(1000 * sizeof(double));
#pragma omp parallel for
  for (long i = 0; i < 1000; i++)
    a[i] += i;
  use(a);
}
