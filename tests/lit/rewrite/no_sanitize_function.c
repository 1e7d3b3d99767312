// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a function exempt from the sanitizer is left alone too: its malloc is still the sanitizer's.
// RUN: %clang -O2 -fsanitize=address -fplugin-arg-smalloc-heap=superpage -S -emit-llvm -o - %s | FileCheck %s
// CHECK-NOT: __smalloc_v1
#include <stdlib.h>
__attribute__((no_sanitize("address"))) void *f(long n) { return malloc(n); }
void *g(long n) { return malloc(n); }
