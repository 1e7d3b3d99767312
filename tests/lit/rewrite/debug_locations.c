// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: rewritten calls and inserted functions pass the verifier with -g, and the call keeps its line.
// RUN: %clang -O2 -g -S -emit-llvm -o - %s | FileCheck %s
// RUN: %clang -O2 -g -c -o %t.o %s && llvm-dwarfdump --verify %t.o
// CHECK: call {{.*}}@__smalloc_v1_thunk_malloc({{.*}}, !dbg ![[HERE:[0-9]+]]
// CHECK: ![[HERE]] = !DILocation(line: 10, column: 32,
#include <stdlib.h>

double *f(const int *x, long n) {
  double *a = (double *)(void*)malloc(n * sizeof(double));
  for (long i = 0; i < n; i++)
    a[x[i]] = i;
  return a;
}
