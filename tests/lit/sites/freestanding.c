// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: without a C library malloc may be any function: its calls stay, and one remark says so.
// RUN: %clang -O2 -ffreestanding -fplugin-arg-smalloc-rewrite=all -S -emit-llvm -o - %s | FileCheck %s
// RUN: %remarks -ffreestanding %s 2>&1 | FileCheck --check-prefix=REMARK %s
// RUN: %remarks -fno-builtin %s 2>&1 | FileCheck --check-prefix=NONE %s
// CHECK-NOT: smalloc_v1
// REMARK-COUNT-1: sites left alone: 2 calls of functions with the names of allocation functions, which may be other functions without a C library (-ffreestanding)
// REMARK-NOT: left alone
// NONE-NOT: left alone
typedef __SIZE_TYPE__ size_t;
void *malloc(size_t), *calloc(size_t, size_t);
void *plain(size_t n) { return malloc(n); }
void *zeroed(size_t n) { return calloc(n, 8); }
int neither(int n) { return n + 1; }
