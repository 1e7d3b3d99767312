// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an unknown numa value is an error.
// RUN: not %clang -O2 -c -o %t.o '-fplugin-arg-smalloc-numa=yes' %s 2>&1 | FileCheck %s
// CHECK: error: smalloc: invalid value 'yes' of plugin option 'numa': expected off or hints
int x;
