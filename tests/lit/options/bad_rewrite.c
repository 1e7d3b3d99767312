// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an unknown rewrite scope is an error.
// RUN: not %clang -O2 -c -o %t.o '-fplugin-arg-smalloc-rewrite=none' %s 2>&1 | FileCheck %s
// CHECK: error: smalloc: invalid value 'none' of plugin option 'rewrite': expected candidates or all
int x;
