// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: what a call may have pushed far away is told again behind it.
// RUN: %clang -O2 -fplugin-arg-smalloc-profile-generate -S -emit-llvm -o - %s | FileCheck %s
// CHECK-LABEL: define {{.*}}@sum(
// CHECK: @__smalloc_v1_append5(
// CHECK: call void @elsewhere
// CHECK: @__smalloc_v1_append5(
// CHECK: ret i64
void elsewhere(void);
struct node { long a, b; };
long sum(const struct node *n) {
  long a = n->a;
  elsewhere();
  return a + n->b;
}
