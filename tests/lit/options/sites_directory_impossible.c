// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a directory for site tables that cannot be made is an error.
// RUN: not %clang -O2 -c -o %t.o '-fplugin-arg-smalloc-sites=/dev/null/sites' %s 2>&1 | FileCheck %s
// CHECK: error: smalloc: cannot create the directory of plugin option 'sites' (/dev/null/sites): Not a directory
int x;
