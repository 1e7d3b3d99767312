// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a unit that exports malloc as an alias is left alone.
// RUN: %clang -O2 -Rpass-missed=smalloc -S -emit-llvm -o - %s 2>%t.err | FileCheck %s
// RUN: FileCheck --check-prefix=REMARK %s < %t.err
// REMARK: remark: sites left alone: this unit defines malloc [-Rpass-missed=smalloc]
// CHECK-NOT: __smalloc_v1
void *mine(unsigned long n) { return (void *)n; }
void *malloc(unsigned long n) __attribute__((alias("mine")));
void *calloc(unsigned long, unsigned long);
void *f(long n) { return calloc(n, 8); }
