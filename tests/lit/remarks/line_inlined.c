// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the remark of an inlined allocation stands at the line where it was written.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: line_inlined.c:10:44: remark: undecided: malloc of n*24 bytes in 'inner'
#include <stdlib.h>
struct three {
  double x[3];
};
// Three doubles each.
inline static void *inner(long n) { return malloc(n * sizeof(struct three)); }
void *f(long n) { return inner(n); }
