// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an optnone function is left alone, its neighbour is not.
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK-LABEL: define {{.*}}@plain(
// CHECK: call {{.*}}@malloc(
// CHECK-LABEL: define {{.*}}@steered(
// CHECK: call {{.*}}@__smalloc_v1_thunk_malloc(
#include <stdlib.h>
__attribute__((optnone, noinline)) void *plain(long n) { return malloc(n); }
void *steered(long n) { return malloc(n); }
