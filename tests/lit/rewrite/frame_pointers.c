// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: inserted functions keep the frame pointer where the unit asks for it.
// RUN: %clang -O2 -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -S -o - %s | FileCheck %s
// CHECK-LABEL: __smalloc_v1_thunk_malloc:
// CHECK: pushq %rbp
// CHECK-LABEL: __smalloc_v1_register:
// CHECK: pushq %rbp
void *malloc(__SIZE_TYPE__);
void *f(long n) { return malloc(n); }
