// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: functions under -fsanitize=type keep their calls: the sanitizer owns malloc.
// Clang 19 does not have it.
// REQUIRES: llvm-21
// RUN: %clang -O2 -fsanitize=type -fplugin-arg-smalloc-heap=superpage -S -emit-llvm -o - %s | FileCheck %s
// CHECK-NOT: __smalloc_v1
#include <stdlib.h>
void *f(long n) { return malloc(n); }
