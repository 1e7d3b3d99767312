// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a machine file that does not exist is an error with its path.
// RUN: not %clang -O2 -c -o %t.o '-fplugin-arg-smalloc-machine=/nowhere/machine.json' %s 2>&1 | FileCheck %s
// CHECK: error: smalloc: cannot use machine profile (/nowhere/machine.json): No such file or directory
int x;
