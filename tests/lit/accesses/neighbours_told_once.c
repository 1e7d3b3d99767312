// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the members of one small object are told once.
// RUN: %clang -O2 -fplugin-arg-smalloc-profile-generate -S -emit-llvm -o - %s | FileCheck %s
// CHECK-LABEL: define {{.*}}@sum(
// CHECK-COUNT-1: @__smalloc_v1_append5(
// CHECK-NOT: @__smalloc_v1_append5(
// CHECK: ret i64
struct node { long a, b, c, d; };
long sum(const struct node *n) { return n->a + n->b * n->c - n->d; }
