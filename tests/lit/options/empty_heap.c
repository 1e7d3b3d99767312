// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: heap without a value is an error.
// RUN: not %clang -O2 -c -o %t.o '-fplugin-arg-smalloc-heap' %s 2>&1 | FileCheck %s
// CHECK: error: smalloc: invalid value '' of plugin option 'heap': expected auto, off, superpage, migrate or guest
int x;
