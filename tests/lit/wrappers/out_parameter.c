// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a function that returns what posix_memalign put into a local pointer is seen through, also if the pointer
// was null before; its size argument is the size. One that may return another pointer is not.
// RUN: %remarks %s 2>&1 | FileCheck %s
// RUN: %clang -O2 -fPIC -S -emit-llvm -o - %s | FileCheck --check-prefix=IR %s
// CHECK-DAG: at the first touch since every byte is written: aligned of n*8 bytes in 'rows'
// IR-DAG: @__smalloc_v1_wrapper_aligned = weak hidden constant
// IR-DAG: @__smalloc_v1_wrapper_checked = weak hidden constant
// IR-NOT: @__smalloc_v1_wrapper_other = {{.*}}constant
#include <stdlib.h>
__attribute__((noinline)) void *aligned(size_t n) {
  void *p = NULL;
  int failed = posix_memalign(&p, 4096, n);
  if (failed)
    exit(1);
  return p;
}
void *checked(unsigned long long n, int each) {
  void *p = NULL;
  if (posix_memalign(&p, 64, n * each) || !p)
    return NULL;
  return p;
}
extern char reserve[];
void *other(size_t n) {
  void *p = reserve;
  posix_memalign(&p, 4096, n);
  return p;
}
double *rows(size_t n) {
  double *a = aligned(n * sizeof *a);
  for (size_t i = 0; i < n; i++)
    a[i] = i;
  return a;
}
