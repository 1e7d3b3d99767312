// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the element size of new T[n] is known, through the overflow check around n * sizeof(T).
// RUN: %remarksxx %s 2>&1 | FileCheck %s
// CHECK: new[] of n*8 bytes in 'f(long)'
double *f(long n) { return new double[n]; }
