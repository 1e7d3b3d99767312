// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: -fpass-plugin alone rewrites as well.
// RUN: %rawclang -O2 -fpass-plugin=%plugin -S -emit-llvm -o - %s | FileCheck %s
// CHECK: call {{.*}}@__smalloc_v1_thunk_malloc(
#include <stdlib.h>
void *f(long n) { return malloc(n); }
