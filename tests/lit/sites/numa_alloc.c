// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: libnuma's allocations are sites, and stay calls of libnuma.
// RUN: %clang -O2 -fplugin-arg-smalloc-heap=superpage -S -emit-llvm -o - %s | FileCheck %s
// CHECK-DAG: call {{.*}}ptr @__smalloc_v1_thunk_numa_alloc_local(i64 {{.*}}.cell)
// CHECK-DAG: call {{.*}}ptr @__smalloc_v1_thunk_numa_alloc_onnode(i64 {{.*}}i32 {{.*}}1, ptr {{.*}}.cell)
// CHECK-DAG: call {{.*}}ptr @__smalloc_v1_thunk_numa_alloc_interleaved(i64 {{.*}}.cell)
// CHECK-DAG: call {{.*}}ptr @__smalloc_v1_thunk_numa_alloc(i64 {{.*}}.cell)
// CHECK-LABEL: define linkonce_odr hidden ptr @__smalloc_v1_thunk_numa_alloc_onnode(
// CHECK: call {{.*}}@numa_alloc_onnode(
#include <stddef.h>
void *numa_alloc(size_t), *numa_alloc_local(size_t), *numa_alloc_onnode(size_t, int), *numa_alloc_interleaved(size_t);
void f(void **p, size_t n) {
  p[0] = numa_alloc_local(n);
  p[1] = numa_alloc_onnode(n, 1);
  p[2] = numa_alloc_interleaved(n);
  p[3] = numa_alloc(n);
}
