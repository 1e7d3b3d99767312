// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a unit of many loops gets no more points than its compile can bear, and its nests get them first.
// RUN: %clang -O2 -S -emit-llvm -o %t.ll %s
// RUN: grep -c "call preserve_mostcc void @__smalloc_v1_large_fill" %t.ll > %t.count
// RUN: FileCheck --check-prefix=COUNT %s < %t.count
// RUN: FileCheck %s < %t.ll
// COUNT: {{^1[0-9]$}}
// CHECK-LABEL: define {{.*}}@nest(
// CHECK: call preserve_mostcc void @__smalloc_v1_large_fill(
// CHECK: ret void
#define LOOP(k)                                                                                    \
  void loop##k(long *to, unsigned long n) {                                                        \
    for (unsigned long i = 0; i < n; i++)                                                          \
      to[i] = (long)(i * i) + k;                                                                   \
  }
#define LOOPS(k) LOOP(k##0) LOOP(k##1) LOOP(k##2) LOOP(k##3) LOOP(k##4)
LOOPS(1) LOOPS(2) LOOPS(3) LOOPS(4) LOOPS(5) LOOPS(6) LOOPS(7) LOOPS(8)
void nest(double *to, long n, long m) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++)
      to[j * n + i] = (double)(i ^ j);
}
