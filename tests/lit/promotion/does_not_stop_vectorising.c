// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a promotion point touches no memory of the program: its loop is vectorised as before.
// RUN: %clang -O2 -mavx2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK: call {{.*}}void @__smalloc_v1_touch_counting({{.*}}) #[[EFFECTS:[0-9]+]]
// CHECK: store <4 x double>
// CHECK: attributes #[[EFFECTS]] = { nounwind memory(inaccessiblemem: readwrite) }
void f(double *restrict to, const double *restrict a, const int *restrict index, long m) {
  for (long i = 0; i < m; i++)
    to[i] = a[index[i]];
}
