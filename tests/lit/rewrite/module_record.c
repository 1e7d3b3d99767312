// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a constructor of the first priority hands the image's record to the runtime, a destructor takes it back.
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK-DAG: @__smalloc_v1_module = linkonce_odr hidden global {{.*}} { i32 1, i32 80, {{.*}} comdat
// CHECK-DAG: @llvm.global_ctors = {{.*}}{ i32, ptr, ptr } { i32 1, ptr @__smalloc_v1_register, ptr @__smalloc_v1_register }
// CHECK-DAG: @llvm.global_dtors = {{.*}}{ i32, ptr, ptr } { i32 1, ptr @__smalloc_v1_unregister, ptr @__smalloc_v1_unregister }
// CHECK: define linkonce_odr hidden void @__smalloc_v1_register() {{.*}}comdat
// CHECK: icmp {{eq|ne}} ptr @__smalloc_v1_register_module, null
// CHECK: store ptr @free,
// CHECK: store ptr @realloc,
// CHECK: store ptr @_ZdlPv,
// CHECK: store ptr @__start_smalloc_keys,
// CHECK: store ptr @__stop_smalloc_keys,
// CHECK: call void @__smalloc_v1_register_module(ptr {{.*}}@__smalloc_v1_module)
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s --check-prefix=BOUNDS
// BOUNDS-DAG: declare hidden void @__start_smalloc_sites()
// BOUNDS-DAG: declare hidden void @__stop_smalloc_keys()
#include <stdlib.h>
void *f(long n) { return malloc(n); }
