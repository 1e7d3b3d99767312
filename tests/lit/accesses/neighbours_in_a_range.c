// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: nodes that are followed tell one access each. Which of their fields, or which element of the array in them, comes
// next is not known, but it lies beside what was told. An array that reaches further is another access.
// RUN: %clang -O2 -fplugin-arg-smalloc-profile-generate -S -emit-llvm -o - %s | FileCheck %s
struct tree {
  unsigned long key;
  struct tree *left, *right;
};
struct list {
  struct list *next;
  unsigned long id;
  double weight[32];
};

// CHECK-LABEL: define {{.*}}@find(
// CHECK-COUNT-1: @__smalloc_v1_tell5(
// CHECK-NOT: @__smalloc_v1_tell5(
// CHECK: {{^[}]}}
const struct tree *find(const struct tree *t, unsigned long key) {
  while (t && t->key != key)
    t = key < t->key ? t->left : t->right;
  return t;
}

// CHECK-LABEL: define {{.*}}@near(
// CHECK-COUNT-1: @__smalloc_v1_tell5(
// CHECK-NOT: @__smalloc_v1_tell5(
// CHECK: {{^[}]}}
double near(const struct list *n) {
  double sum = 0;
  for (; n; n = n->next)
    sum += n->weight[n->id & 15];
  return sum;
}

// CHECK-LABEL: define {{.*}}@far(
// CHECK-COUNT-2: @__smalloc_v1_tell5(
// CHECK-NOT: @__smalloc_v1_tell5(
// CHECK: {{^[}]}}
double far(const struct list *n) {
  double sum = 0;
  for (; n; n = n->next)
    sum += n->weight[n->id];
  return sum;
}
