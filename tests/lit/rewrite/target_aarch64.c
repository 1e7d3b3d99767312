// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: AArch64 ELF is supported: the thunk loads the entry from the GOT.
// RUN: %clang -O2 --target=aarch64-linux-gnu -S -o - %s | FileCheck %s
// CHECK: b {{.*}}__smalloc_v1_thunk_malloc
// CHECK: :got:__smalloc_v1_malloc
void *malloc(__SIZE_TYPE__);
void *f(long n) { return malloc(n); }
