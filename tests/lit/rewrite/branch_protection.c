// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: inserted functions follow -mbranch-protection: the constructor is called indirectly and needs its landing pad.
// RUN: %clang -O2 --target=aarch64-linux-gnu -mbranch-protection=standard -S -o - %s | FileCheck %s
// CHECK-LABEL: __smalloc_v1_thunk_malloc:
// CHECK: {{bti c|paciasp|hint #(34|25)}}
// CHECK-LABEL: __smalloc_v1_register:
// CHECK: {{bti c|paciasp|hint #(34|25)}}
void *malloc(__SIZE_TYPE__);
void *f(long n) { return malloc(n); }
