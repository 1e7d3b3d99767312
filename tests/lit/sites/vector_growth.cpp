// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the allocation inside std::vector's growth is a site, named after the template's function.
// RUN: %clangxx -O2 -S -emit-llvm -o - %s | FileCheck %s
#include <vector>
// CHECK: call {{.*}}@__smalloc_v1_thunk__Znwm(
// CHECK: "smalloc-function"="_ZNSt15__new_allocatorIdE8allocateEmPKv"
std::vector<double> *keep(std::vector<double> *v, double d) {
  v->push_back(d);
  return v;
}
