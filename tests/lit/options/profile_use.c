// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: profile-use, which is not built yet, is an error.
// RUN: not %clang -O2 -c -o %t.o '-fplugin-arg-smalloc-profile-use=x.directives' %s 2>&1 | FileCheck %s
// CHECK: error: smalloc: plugin option 'profile-use=x.directives' is not available in this version of smalloc
int x;
