// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: placement new allocates nothing and is no site.
// RUN: rm -rf %t && %clangxx -O2 -c -o /dev/null -fplugin-arg-smalloc-sites=%t %s && cat %t/*.json | FileCheck %s
// CHECK: "sites": 0
#include <new>
struct point {
  double x, y;
};
point *f(void *at) { return new (at) point{1, 2}; }
