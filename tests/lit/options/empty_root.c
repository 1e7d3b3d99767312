// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: root without a directory is an error.
// RUN: not %clang -O2 -c -o %t.o '-fplugin-arg-smalloc-root=' %s 2>&1 | FileCheck %s
// CHECK: error: smalloc: invalid value '' of plugin option 'root': expected a directory
int x;
