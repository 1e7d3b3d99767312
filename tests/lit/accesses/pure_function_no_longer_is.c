// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a function that only read memory is no longer said to: it writes into the recording.
// RUN: %clang -O2 -fplugin-arg-smalloc-profile-generate -S -emit-llvm -o - %s | FileCheck %s
// CHECK-LABEL: define {{.*}}@get(ptr
// CHECK-SAME: #[[A:[0-9]+]]
// CHECK: attributes #[[A]] = {
// CHECK-NOT: memory(
// CHECK-SAME: }
__attribute__((noinline, pure)) long get(const long *p) { return *p; }
