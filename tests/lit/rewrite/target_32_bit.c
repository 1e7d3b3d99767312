// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a 32-bit target is left alone.
// RUN: %clang -O2 --target=i686-linux-gnu -S -emit-llvm -o - %s | FileCheck %s
// CHECK-NOT: __smalloc_v1
void *malloc(__SIZE_TYPE__);
void *f(long n) { return malloc(n); }
