// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a call that looks like an allocation by another unit goes through a thunk that looks for its record;
// other calls, and those of the C library, stay.
// RUN: %clang -O2 -fPIC -S -emit-llvm -o - %s | FileCheck %s
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK: @__smalloc_v1_wrapper_xmalloc = extern_weak hidden constant { ptr, ptr }
// CHECK: call ptr @__smalloc_v1_context_{{[0-9a-f]*}}_xmalloc(i64 {{[^,]*}}, ptr {{.*}}.cell)
// CHECK: call ptr @lookup(i32
// CHECK: call ptr @strchr(
// CHECK: define linkonce_odr hidden ptr @__smalloc_v1_context_{{[0-9a-f]*}}_xmalloc(i64 {{.*}}%0, ptr %1) {{.*}}comdat
// CHECK: icmp {{eq|ne}} ptr @__smalloc_v1_wrapper_xmalloc, null
// CHECK: icmp eq ptr {{.*}}@xmalloc
// CHECK: tail call ptr %{{[0-9]+}}(i64 {{.*}}%0, ptr %1)
// CHECK: tail call ptr @xmalloc(i64 {{.*}}%0)
#include <stddef.h>
#include <string.h>
void *xmalloc(size_t);
void *lookup(int);
void use(void *, void *, void *);
void f(size_t n, const char *s) { use(xmalloc(n), lookup(1), strchr(s, (int)n)); }
