// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: with -fno-builtin-malloc, which builds for another allocator ask for, malloc's calls are sites, and the
// compiler still takes none of them for the builtin.
// RUN: %clang -O2 -fno-builtin-malloc -fplugin-arg-smalloc-rewrite=all -S -emit-llvm -o - %s | FileCheck %s
#include <stdlib.h>
// CHECK-LABEL: @plain(
// CHECK-NOT: noalias
// CHECK: call {{.*}}ptr @__smalloc_v1_thunk_malloc(
void *plain(size_t n) { return malloc(n); }
// CHECK-LABEL: @zeroed(
// CHECK: call {{.*}}@__smalloc_v1_thunk_calloc(
void *zeroed(size_t n) { return calloc(n, 8); }
// CHECK-LABEL: @unused(
// CHECK: call {{.*}}@__smalloc_v1_thunk_malloc(
void unused(size_t n) { free(malloc(n)); }
