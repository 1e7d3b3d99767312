// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: without profile-generate nothing is instrumented.
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK-NOT: __smalloc_v1
long get(const long *p) { return *p; }
