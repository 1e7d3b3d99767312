// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an unknown model is an error.
// RUN: not %clang -O2 -c -o %t.o '-fplugin-arg-smalloc-model=guess' %s 2>&1 | FileCheck %s
// CHECK: error: smalloc: invalid value 'guess' of plugin option 'model': expected spread or paper
int x;
