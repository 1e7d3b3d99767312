// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: while nothing waits for promotion, a loop of few iterations pays for a test, not for a call, for
// what only the call needs, or for registers that a call would spoil.
// RUN: %clang -O2 --target=x86_64-linux-gnu -S -emit-llvm -o - %s | FileCheck %s
// RUN: %clang -O2 --target=x86_64-linux-gnu -S -o - %s | FileCheck --check-prefix=ASM %s
// CHECK-LABEL: define {{.*}}@f(
// CHECK: icmp sgt i64 %{{.*}}, 0
// CHECK-NOT: udiv
// CHECK: icmp ne ptr @__smalloc_v1_pending, null
// CHECK: %[[N:.*]] = load atomic i32, ptr @__smalloc_v1_pending monotonic
// CHECK-NEXT: %[[ANY:.*]] = icmp ne i32 %[[N]], 0
// CHECK-NEXT: br i1 %[[ANY]], label %[[COLD:.*]], label %{{.*}}, !prof
// CHECK: [[COLD]]:
// CHECK: udiv
// CHECK: @llvm.usub.with.overflow.i64(
// CHECK: call preserve_mostcc void @__smalloc_v1_touch_counting(
// CHECK-NOT: @__smalloc_v1_touch(
// ASM-LABEL: f:
// ASM-NOT: push
// ASM: cmpq $0, __smalloc_v1_pending@GOTPCREL(%rip)
// ASM-NOT: push
// ASM: addsd
// ASM-LABEL: .size f,
double f(const double *a, const int *index, long m) {
  double s = 0;
  for (long i = 0; i < m; i += 3)
    s += a[index[i]];
  return s;
}
