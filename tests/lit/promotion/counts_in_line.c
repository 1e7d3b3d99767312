// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: while something waits, a short loop's point only takes what it is worth off a variable of the thread; a
// point that is worth a batch asks each time, and so does one of a shared library, where the variable is far.
// RUN: %clang -O2 --target=x86_64-linux-gnu -fPIE -S -emit-llvm -o - %s | FileCheck %s
// RUN: %clang -O2 --target=aarch64-linux-gnu -fno-pic -S -emit-llvm -o - %s | FileCheck %s
// RUN: %clang -O2 --target=x86_64-linux-gnu -fPIE -S -o - %s | FileCheck --check-prefix=ASM %s
// RUN: %clang -O2 --target=x86_64-linux-gnu -fPIC -S -emit-llvm -o - %s | FileCheck --check-prefix=SHARED %s
// CHECK: @__smalloc_v1_touch_left = linkonce_odr thread_local(initialexec) global i64 4099, comdat
// CHECK-LABEL: define {{.*}}@probe(
// CHECK: load atomic i32, ptr @__smalloc_v1_pending monotonic
// CHECK: %[[LEFT:.*]] = load i64, ptr %[[AT:.*]],
// CHECK-NEXT: %[[PAIR:.*]] = call { i64, i1 } @llvm.usub.with.overflow.i64(i64 %[[LEFT]], i64 16)
// CHECK-NEXT: %[[REST:.*]] = extractvalue { i64, i1 } %[[PAIR]], 0
// CHECK-NEXT: store i64 %[[REST]], ptr %[[AT]]
// CHECK-NEXT: %[[USED:.*]] = extractvalue { i64, i1 } %[[PAIR]], 1
// CHECK-NEXT: br i1 %[[USED]], label %[[ASK:.*]], label %{{.*}}, !prof
// CHECK: [[ASK]]:
// CHECK: call preserve_mostcc void @__smalloc_v1_touch_counting(ptr {{.*}}, i64 16)
// CHECK-LABEL: define {{.*}}@long_one(
// CHECK-NOT: @__smalloc_v1_touch_left
// CHECK: call preserve_mostcc void @__smalloc_v1_touch_counting(ptr {{.*}}, i64 1000000)
// CHECK: ret double
// ASM-LABEL: probe:
// ASM: movq __smalloc_v1_touch_left@GOTTPOFF(%rip), [[AT:%[a-z0-9]+]]
// ASM-NEXT: subq $16, %fs:([[AT]])
// ASM-LABEL: .size probe,
// ASM-LABEL: gather:
// ASM: movq __smalloc_v1_touch_left@GOTTPOFF(%rip), [[AT:%[a-z0-9]+]]
// ASM-NEXT: subq %{{[a-z0-9]+}}, %fs:([[AT]])
// ASM-NOT: movabsq
// ASM-LABEL: .size gather,
// SHARED-NOT: @__smalloc_v1_touch_left
// SHARED: call preserve_mostcc void @__smalloc_v1_touch_waiting(
struct node {
  struct node *next;
  long value;
};
long probe(const struct node *n) {
  long s = 0;
  for (; n; n = n->next)
    s += n->value;
  return s;
}
double long_one(const double *a, const int *index) {
  double s = 0;
  for (long i = 0; i < 1000000; i++)
    s += a[index[i]];
  return s;
}
double gather(const double *a, const int *index, long n) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s += a[index[i]];
  return s;
}
