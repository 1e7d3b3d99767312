// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: what may come from memory is no fresh result; nor are weak, variadic and setjmp functions seen through;
// and what computes its result is not compiled twice.
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK-NOT: __smalloc_v1_with_cell_
// CHECK-NOT: __smalloc_v1_wrapper_
#include <setjmp.h>
#include <stdlib.h>
static void *spare;
void *pooled(size_t n) {
  if (spare) {
    void *p = spare;
    spare = 0;
    return p;
  }
  return malloc(n);
}
void give(void *p) { spare = p; }
__attribute__((weak)) void *replaceable(size_t n) { return malloc(n); }
void *variadic(size_t n, ...) { return malloc(n); }
static jmp_buf back;
void *jumps(size_t n) { return setjmp(back) ? 0 : malloc(n); }
void *itself(size_t n) { return n > 100 ? itself(n / 2) : spare; }
double *smoothed(const double *a, const double *b, long n) {
  double *r = calloc(n * n * n, sizeof *r);
  if (!r)
    return 0;
  for (long i = 1; i < n - 1; i++)
    for (long j = 1; j < n - 1; j++)
      for (long k = 1; k < n - 1; k++) {
        long at = (i * n + j) * n + k;
        r[at] = 0.5 * a[at] + 0.1 * (a[at - 1] + a[at + 1] + a[at - n] + a[at + n] + a[at - n * n] + a[at + n * n]) -
                0.1 * b[at] * b[at - 1] + 0.2 * b[at + 1] * b[at - n] * b[at + n];
      }
  return r;
}
