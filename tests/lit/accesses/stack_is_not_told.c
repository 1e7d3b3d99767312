// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a unit that touches only its stack and small statics has no gate at all.
// RUN: %clang -O2 -fplugin-arg-smalloc-profile-generate -S -emit-llvm -o - %s | FileCheck %s
// CHECK-NOT: __smalloc_v1
static int counter;
void use(int *);
int f(int n) {
  int a[100];
  use(a);
  int sum = 0;
  for (int i = 0; i < n; i++)
    sum += a[i];
  return sum + counter++;
}
