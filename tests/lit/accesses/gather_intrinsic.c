// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: each lane of a gather that is switched on is told.
// RUN: %clang -O3 -ffast-math -mavx512f -mprefer-vector-width=512 -fno-unroll-loops -fplugin-arg-smalloc-profile-generate -S -emit-llvm -o - %s | FileCheck %s
// CHECK: extractelement <8 x ptr>
// CHECK: @__smalloc_v1_tell5(
// CHECK: call <8 x double> @llvm.masked.gather
double gather(const double *a, const int *index, long n) {
  double sum = 0;
#pragma clang loop vectorize(enable)
  for (long i = 0; i < n; i++)
    sum += a[index[i]];
  return sum;
}
