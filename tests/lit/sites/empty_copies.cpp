// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: of a call that a loop's unrolling has copied, the copy that asks for nothing is called as it is and
// not listed; what asks for nothing everywhere is listed, and nothing else; rewrite=all lists what it rewrites.
// RUN: rm -rf %t && %clangxx -O2 -c -o /dev/null -fplugin-arg-smalloc-sites=%t %s && cat %t/*.json | FileCheck %s
// RUN: %clangxx -O2 -S -emit-llvm -o - %s | FileCheck --check-prefix=CALLS %s
// RUN: rm -rf %t && %clangxx -O2 -c -o /dev/null -fplugin-arg-smalloc-rewrite=all -fplugin-arg-smalloc-sites=%t %s && cat %t/*.json | FileCheck --check-prefix=ALL %s
// CHECK-COUNT-3: "function": "_ZN4GridIdEC2Em",
// CHECK-NOT: "function": "_ZN4Grid
// CHECK: "function": "_ZN6NobodyIdEC2Ev",
// CHECK-NOT: "function": "_ZN
// CALLS-LABEL: define {{.*}} @_Z8unrolledv
// CALLS: call {{.*}} @_Znam(i64 noundef 0)
// CALLS: call {{.*}} @__smalloc_v1_thunk{{.*}}(i64 noundef 8,
// ALL-COUNT-4: "function": "_ZN4GridIdEC2Em",
#include <stddef.h>
void keep(const void *);
template <class T> struct Grid {
  T *values;
  explicit Grid(size_t n) : values(new T[n]) {}
};
template <class T> struct Nobody {
  T *values;
  Nobody() : values(new T[0]) {}
};
void unrolled() {
  for (size_t i = 0; i < 4; i++) {
    Grid<double> g(i);
    keep(g.values);
  }
}
void empty() {
  Nobody<double> n;
  keep(n.values);
}
