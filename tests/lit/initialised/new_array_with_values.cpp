// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: new double[n]() writes zeros into all of what it allocates.
// The size is a select between n * 8 and -1, the memset has n * 8.
// RUN: %remarksxx -fplugin-arg-smalloc-heap=superpage %s 2>&1 | FileCheck %s
// CHECK: superpages, at the first touch since every byte is written: new[] of n*8 bytes
double *f(long n) { return new double[n](); }
