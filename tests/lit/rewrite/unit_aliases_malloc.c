// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a unit that exports malloc as an alias is left alone.
// RUN: %clang -O2 -fno-builtin -S -emit-llvm -o - %s | FileCheck %s
// CHECK-NOT: __smalloc_v1
void *mine(unsigned long n) { return (void *)n; }
void *malloc(unsigned long n) __attribute__((alias("mine")));
void *calloc(unsigned long, unsigned long);
void *f(long n) { return calloc(n, 8); }
