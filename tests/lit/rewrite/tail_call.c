// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a call in tail position stays one: the thunk is jumped to.
// RUN: %clang -O2 -S -o - %s | FileCheck %s
// CHECK-LABEL: f:
// CHECK: jmp __smalloc_v1_thunk_malloc
#include <stdlib.h>
void *f(long n) { return malloc(n); }
