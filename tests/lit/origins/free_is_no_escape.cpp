// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: free and operator delete take a pointer back: no escape.
// RUN: %remarksxx -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// CHECK: base pages: new[] of n*8 bytes in 'f(long)': {{[^;]*}} [-Rpass-missed=smalloc]
// CHECK-NOT: undecided
double f(long n) {
  double *p = new double[n], s = 0;
  for (long i = 0; i < n; i++)
    p[i] = i;
  for (long i = 0; i < n; i++)
    s = s * p[i] + 1;
  delete[] p;
  return s;
}
