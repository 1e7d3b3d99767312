// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the thunk of a throwing operator new may unwind, that of malloc may not.
// RUN: %clangxx -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK: define linkonce_odr hidden ptr @__smalloc_v1_thunk__Znwm({{.*}}) #[[NEW:[0-9]+]] comdat
// CHECK: define linkonce_odr hidden ptr @__smalloc_v1_thunk_malloc({{.*}}) #[[MALLOC:[0-9]+]] comdat
// CHECK: attributes #[[NEW]] = { uwtable
// CHECK: attributes #[[MALLOC]] = { nounwind uwtable
#include <stdlib.h>
void *f(long n) { return ::operator new(n); }
void *g(long n) { return malloc(n); }
