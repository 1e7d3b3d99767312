// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a unit with -fsanitize=alloc-token keeps its tokens, and a remark says why its sites are left alone.
// Clang 22 and newer.
// REQUIRES: llvm-22
// RUN: sh %S/Inputs/same_code.sh %rawclang %plugin %t --target=x86_64-linux-gnu -fsanitize=alloc-token %s
// RUN: %clang -O2 -fsanitize=alloc-token -S -emit-llvm -o - %s -Rpass-missed=smalloc 2>&1 | FileCheck %s
// RUN: %clang -O2 -fsanitize=alloc-token -fplugin-arg-smalloc-profile-generate -S -emit-llvm -o - %s | FileCheck %s --check-prefix=CALLS
// RUN: %clang -O2 -flto -fsanitize=alloc-token -S -emit-llvm -o - %s | FileCheck %s --check-prefix=LTO
// CHECK: remark: sites left alone: its allocation calls carry tokens [-Rpass-missed=smalloc]
// CALLS-NOT: __smalloc_v1
// CALLS: call {{.*}}@__alloc_token_malloc(
// CALLS-NOT: __smalloc_v1
// CALLS: call {{.*}}@__alloc_token_calloc(
// CALLS-NOT: __smalloc_v1
// LTO-NOT: __smalloc_v1
void *malloc(__SIZE_TYPE__);
void *calloc(__SIZE_TYPE__, __SIZE_TYPE__);
double f(const int *x, long n) {
  double *a = malloc(n * sizeof(double)), s = 0;
  for (long i = 0; i < n; i++)
    a[i] = i;
  for (long i = 0; i < n; i++)
    s += a[x[i]];
  return s;
}
void *g(long n) { return calloc(n, 8); }
