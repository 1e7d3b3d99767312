// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: -fno-builtin leaves every call alone.
// RUN: %clang -O2 -fno-builtin -fplugin-arg-smalloc-rewrite=all -S -emit-llvm -o - %s | FileCheck %s
#include <stdlib.h>
// CHECK-NOT: smalloc_v1
// CHECK: call {{.*}}@malloc(
// CHECK-NOT: smalloc_v1
void *plain(size_t n) { return malloc(n); }
