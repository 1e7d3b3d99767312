// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: in a unit that goes straight to object code the sizes are handed to a thunk that tests them, one for all
// sites of the same bounds, and the function that allocates compares nothing; the thunk asks the site's cell only where they hold
// or somebody else has decided; the entry for callers that decide differently tests nothing.
// RUN: %clang -fplugin-arg-smalloc-first-touch=off -O2 -S -o - %s | FileCheck %s
// RUN: %clang -fplugin-arg-smalloc-first-touch=off -O2 -c -o %t.o %s && nm %t.o | FileCheck %s --check-prefix=SYMBOLS
// REQUIRES: x86-host
// CHECK: __smalloc_v1_no_cell:
// CHECK: {{^}}[[TESTING:__smalloc_v1_testing_malloc_s0f.*]]:
// CHECK-NEXT: .cfi_startproc
// CHECK-NEXT: cmpq $2049, %rsi
// CHECK-NEXT: jb [[NOT:.*]]
// CHECK-NEXT: cmpq $257, %rdx
// CHECK-NEXT: jb [[NOT]]
// CHECK-NEXT: jmp [[HOLDS:.*]]
// CHECK-NEXT: [[NOT]]:
// CHECK-NEXT: movq (%[[CELL:.*]]), %rax
// CHECK-NEXT: andq $2130706687, %rax
// CHECK-NEXT: cmpq $2, %rax
// CHECK-NEXT: jne [[HOLDS]]
// CHECK-NEXT: leaq __smalloc_v1_no_cell(%rip), %[[CELL]]
// CHECK-NEXT: [[HOLDS]]:
// CHECK-NEXT: movq %[[CELL]], %rsi
// CHECK-NEXT: jmp __smalloc_v1_thunk_malloc
// CHECK-LABEL: {{^}}f:
// CHECK-NOT: {{cmp|set[a-z]+ }}
// CHECK: callq [[TESTING]]
// CHECK-LABEL: {{^}}__smalloc_v1_with_cell_made:
// CHECK-NOT: testing
// CHECK: callq __smalloc_v1_thunk_malloc
// SYMBOLS-DAG: W __smalloc_v1_testing_malloc_s0f
// SYMBOLS-DAG: W __smalloc_v1_thunk_malloc
// SYMBOLS-DAG: V __smalloc_v1_no_cell
#include <stdlib.h>
double f(long n, long m) {
  double *a = malloc(n * m * sizeof(double)), s = 0;
  for (long i = 0; i < n * m; i++)
    a[i] = i;
  for (long j = 0; j < m; j++)
    for (long i = 0; i < n; i++)
      s += a[i * m + j];
  free(a);
  return s;
}
__attribute__((noinline)) static double *made(long n, long m) {
  double *a = malloc(n * m * sizeof(double));
  for (long j = 0; j < m; j++)
    for (long i = 0; i < n; i++)
      a[i * m + j] += j;
  return a;
}
double g(long n) {
  double *a = made(n, n), s = *a;
  free(a);
  return s;
}
double h(long n, long m) {
  double *a = made(n, m), s = a[1];
  free(a);
  return s;
}
