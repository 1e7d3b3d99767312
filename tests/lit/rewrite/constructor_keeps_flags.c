// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the registering constructor uses no instruction set beyond the unit's (kernel-style flags).
// RUN: %clang -O2 -mno-sse -mgeneral-regs-only -S -o - %s | FileCheck %s
// CHECK-NOT: xmm
// CHECK-LABEL: __smalloc_v1_register:
// CHECK-NOT: xmm
// CHECK-LABEL: __smalloc_v1_unregister:
// CHECK-NOT: xmm
void *malloc(__SIZE_TYPE__);
void *f(long n) { return malloc(n); }
