// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the pending word and the touching entry are weak and loaded from the GOT with -fno-pie.
// RUN: %clang -O2 -fno-pie -fno-pic -S -o - %s | FileCheck %s
// CHECK-DAG: __smalloc_v1_pending@GOTPCREL(%rip)
// CHECK-DAG: __smalloc_v1_touching@GOTPCREL(%rip)
double f(const double *a, const int *index, long m) {
  double s = 0;
  for (long i = 0; i < m; i++)
    s += a[index[i]];
  return s;
}
