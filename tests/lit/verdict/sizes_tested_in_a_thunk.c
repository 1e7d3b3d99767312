// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: in a unit that goes straight to object code the test of sizes is handed to a thunk, which asks the site's
// cell only where it holds or somebody else has decided; the entry for callers that decide differently tests nothing.
// RUN: %clang -O2 -S -o - %s | FileCheck %s
// RUN: %clang -O2 -c -o %t.o %s && nm %t.o | FileCheck %s --check-prefix=SYMBOLS
// REQUIRES: x86-host
// CHECK: __smalloc_v1_no_cell:
// CHECK: __smalloc_v1_testing_malloc:
// CHECK-NEXT: .cfi_startproc
// CHECK-NEXT: testq %rsi, %rsi
// CHECK-NEXT: movq %rdx, %rsi
// CHECK-NEXT: jne __smalloc_v1_thunk_malloc
// CHECK-NEXT: movq (%rsi), %rax
// CHECK-NEXT: andq $2130706687, %rax
// CHECK-NEXT: cmpq $2, %rax
// CHECK-NEXT: jne __smalloc_v1_thunk_malloc
// CHECK-NEXT: leaq __smalloc_v1_no_cell(%rip), %rsi
// CHECK-NEXT: jmp __smalloc_v1_thunk_malloc
// CHECK-LABEL: {{^}}f:
// CHECK: cmpq $2049,
// CHECK: movzbl {{.*}}, %esi
// CHECK: callq __smalloc_v1_testing_malloc
// CHECK-LABEL: {{^}}__smalloc_v1_with_cell_made:
// CHECK: movl $1, %esi
// CHECK: callq __smalloc_v1_testing_malloc
// SYMBOLS-DAG: W __smalloc_v1_testing_malloc
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
