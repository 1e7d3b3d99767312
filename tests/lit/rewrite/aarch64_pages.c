// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: valloc and pvalloc ask for 64 KiB on aarch64, whose systems may have base pages of that size.
// RUN: %clang -O2 --target=aarch64-linux-gnu -S -emit-llvm -o - %s | FileCheck %s
// RUN: %clang -O2 --target=x86_64-linux-gnu -S -emit-llvm -o - %s | FileCheck --check-prefix=X86 %s
// CHECK: call {{.*}}@__smalloc_v1_aligned_alloc(i64 65536,
// X86-NOT: @__smalloc_v1_aligned_alloc(i64 65536,
void *valloc(__SIZE_TYPE__);
void *f(long n) { return valloc(n); }
