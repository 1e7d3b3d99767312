// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a promotion point on aarch64 is a call that preserves most registers, and its thunk saves the ones that the
// library's entry may overwrite.
// RUN: %clang -O2 --target=aarch64-linux-gnu -fPIC -S -emit-llvm -o - %s | FileCheck %s
// RUN: %clang -O2 --target=aarch64-linux-gnu -fPIC -S -o - %s | FileCheck --check-prefix=ASM %s
// CHECK: call preserve_mostcc void @__smalloc_v1_touch_waiting(
// CHECK: define linkonce_odr hidden preserve_mostcc void @__smalloc_v1_touch_waiting(
// ASM-LABEL: __smalloc_v1_touch_waiting:
// ASM: :got_lo12:__smalloc_v1_pending
// ASM: x15
// ASM: blr
double gather(const double *a, const int *index, long n) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s += a[index[i]];
  return s;
}
