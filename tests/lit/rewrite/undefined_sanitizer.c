// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: -fsanitize=undefined does not replace malloc: sites are rewritten.
// RUN: %clang -O2 -fsanitize=undefined -S -emit-llvm -o - %s | FileCheck %s
// CHECK: @__smalloc_v1_thunk_malloc(
#include <stdlib.h>
void *f(long n) { return malloc(n); }
