// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: superpages that a profile gives to an undecided site of unknown size are its heap's where other
// units may allocate many objects there, and each object's own where the site runs once.
// RUN: rm -rf %t && %clang -O2 -c -o /dev/null -fplugin-arg-smalloc-sites=%t %s
// RUN: %python %S/Inputs/all_superpages.py %t > %t.directives
// RUN: %clang -O2 -fplugin-arg-smalloc-profile-use=%t.directives -S -emit-llvm -o - %s | FileCheck %s
// Superpages for a site that is rewritten, small and escapes; the same for one that is not small.
// CHECK-DAG: .cell = {{.*}}{ i64, i64, i64 } { i64 [[#0x1150D01]],
// CHECK-DAG: .cell = {{.*}}{ i64, i64, i64 } { i64 [[#0x1150901]],
#include <stdlib.h>
void keep(void *);
void add(long n) { keep(malloc(n)); }
int main(int argc, char **argv) { keep(malloc(argc * 1000L)); }
