// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a unit without sites gets no constructor and no record.
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK-NOT: __smalloc_v1
int f(int n) { return n + 1; }
