// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an unknown layout is an error.
// RUN: not %clang -O2 -c -o %t.o '-fplugin-arg-smalloc-layout=pad' %s 2>&1 | FileCheck %s
// CHECK: error: smalloc: invalid value 'pad' of plugin option 'layout': expected off or on
int x;
