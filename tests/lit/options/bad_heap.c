// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an unknown heap strategy is an error that lists the known ones.
// RUN: not %clang -O2 -c -o %t.o '-fplugin-arg-smalloc-heap=huge' %s 2>&1 | FileCheck %s
// CHECK: error: smalloc: invalid value 'huge' of plugin option 'heap': expected auto, off, superpage, migrate or guest
int x;
