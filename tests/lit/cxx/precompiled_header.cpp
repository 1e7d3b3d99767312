// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a unit that uses a precompiled header is rewritten.
// RUN: echo '#include <vector>' > %t.h && %clangxx -O2 -x c++-header -o %t.pch %t.h
// RUN: %clangxx -O2 -include-pch %t.pch -S -emit-llvm -o - %s | FileCheck %s
// CHECK: @__smalloc_v1_thunk__Znwm(
std::vector<double> *f(std::vector<double> *v) {
  v->push_back(1);
  return v;
}
