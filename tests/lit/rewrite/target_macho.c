// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a Mach-O target is left alone.
// RUN: %clang -O2 --target=x86_64-apple-macos13 -S -emit-llvm -o - %s | FileCheck %s
// CHECK-NOT: __smalloc_v1
void *malloc(__SIZE_TYPE__);
void *f(long n) { return malloc(n); }
