// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the result of a rewritten malloc stays noalias, which the vectoriser lives on.
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK: call noalias {{.*}}ptr @__smalloc_v1_thunk_malloc(
#include <stdlib.h>
void *f(long n) { return malloc(n); }
