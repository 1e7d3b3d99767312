// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: -fno-builtin-malloc switches malloc's sites off; calloc stays one.
// RUN: %clang -O2 -fno-builtin-malloc -fplugin-arg-smalloc-rewrite=all -S -emit-llvm -o - %s | FileCheck %s
#include <stdlib.h>
// CHECK-LABEL: @plain(
// CHECK: call {{.*}}@malloc(
void *plain(size_t n) { return malloc(n); }
// CHECK-LABEL: @zeroed(
// CHECK: call {{.*}}@__smalloc_v1_thunk_calloc(
void *zeroed(size_t n) { return calloc(n, 8); }
