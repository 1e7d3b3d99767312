// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an object does not ask the linker for libsmalloc (lld would put it behind libc, whose free then wins).
// RUN: %clang -O2 -c -o %t.o %s && llvm-readelf -S %t.o | FileCheck %s
// CHECK-NOT: .deplibs
// CHECK-NOT: .autolink
// CHECK: smalloc_sites
// CHECK-NOT: .deplibs
#include <stdlib.h>
void *f(long n) { return malloc(n); }
