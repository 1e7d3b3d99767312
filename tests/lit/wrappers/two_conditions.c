// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a function that returns what one of two functions of other units returns is no wrapper, as a record names
// only one function that has to be a wrapper. One that calls the same function twice is a wrapper.
// RUN: %clang -O2 -fPIC -S -emit-llvm -o - %s | FileCheck %s
// CHECK-NOT: @__smalloc_v1_wrapper_either = {{.*}}constant { ptr, ptr } {
// CHECK-NOT: @__smalloc_v1_wrapper_either_behind = {{.*}}constant { ptr, ptr } {
// CHECK: @__smalloc_v1_wrapper_same = weak hidden constant
// CHECK-NOT: @__smalloc_v1_wrapper_either = {{.*}}constant { ptr, ptr } {
// CHECK-NOT: @__smalloc_v1_wrapper_either_behind = {{.*}}constant { ptr, ptr } {
// CHECK-LABEL: define {{.*}}@either(
#include <stddef.h>
void *alloc_one(size_t);
void *alloc_two(size_t);
__attribute__((noinline)) static void *one(size_t n) { return alloc_one(n); }
void *either(size_t n, int which) { return which ? alloc_one(n) : alloc_two(n); }
void *either_behind(size_t n, int which) { return which ? one(n) : alloc_two(n); }
void *same(size_t n, int which) { return which ? alloc_one(n) : alloc_one(2 * n); }
void *first(size_t n) { return one(n); }
