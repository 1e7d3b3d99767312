// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: layout=on, which is not built yet, is an error and not silently ignored.
// RUN: not %clang -O2 -c -o %t.o '-fplugin-arg-smalloc-layout=on' %s 2>&1 | FileCheck %s
// CHECK: error: smalloc: plugin option 'layout=on' is not available in this version of smalloc
int x;
