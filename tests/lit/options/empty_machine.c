// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: machine without a value is an error.
// RUN: not %clang -O2 -c -o %t.o '-fplugin-arg-smalloc-machine=' %s 2>&1 | FileCheck %s
// CHECK: error: smalloc: invalid value '' of plugin option 'machine': expected native, a preset's name, or a file
int x;
