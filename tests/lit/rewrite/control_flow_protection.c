// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: inserted functions follow -fcf-protection: the constructor begins with endbr64.
// RUN: %clang -O2 -fcf-protection=full -S -o - %s | FileCheck %s
// CHECK-LABEL: __smalloc_v1_register:
// CHECK: endbr64
void *malloc(__SIZE_TYPE__);
void *f(long n) { return malloc(n); }
