// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: memcpy and memset tell the pages that they walk over.
// RUN: %clang -O2 -fplugin-arg-smalloc-profile-generate -S -emit-llvm -o - %s | FileCheck %s
// CHECK-LABEL: define {{.*}}@copy(
// CHECK: call void %{{.*}}(i64 %{{.*}}, i64 2, ptr
// CHECK: call void @llvm.memcpy
// CHECK-LABEL: define {{.*}}@clear(
// CHECK: call void %{{.*}}(i64 %{{.*}}, i64 1, ptr
// CHECK: call void @llvm.memset
void copy(char *restrict a, const char *restrict b, unsigned long n) { __builtin_memcpy(a, b, n); }
void clear(char *a, unsigned long n) { __builtin_memset(a, 0, n); }
