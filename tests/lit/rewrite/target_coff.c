// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a COFF target is left alone.
// RUN: %clang -O2 --target=x86_64-pc-windows-msvc -S -emit-llvm -o - %s | FileCheck %s
// CHECK-NOT: __smalloc_v1
void *malloc(__SIZE_TYPE__);
void *f(__SIZE_TYPE__ n) { return malloc(n); }
