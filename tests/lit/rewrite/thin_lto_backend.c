// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the module that a ThinLTO or LTO link gets is done: the link's passes add nothing.
// RUN: %clang -O2 -flto=thin -fplugin-arg-smalloc-heap=superpage -c -o %t.bc %s
// RUN: %opt -smalloc-heap=superpage -passes='thinlto<O2>' -verify-each -S -o - %t.bc | FileCheck %s
// CHECK: @__smalloc_v1_site_{{[0-9a-f_]*}}.cell = 
// CHECK-NOT: @__smalloc_v1_site_{{[0-9a-f_]*}}.cell = 
// CHECK: !smalloc.done
#include <stdlib.h>
void *f(long n) { return malloc(n); }
