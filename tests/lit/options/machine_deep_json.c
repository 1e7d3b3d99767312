// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a machine file of brackets in brackets is an error, not a crash of the compiler.
// RUN: %python -c "print('[' * 200000)" > %t.json
// RUN: not %clang -O2 -c -o %t.o -fplugin-arg-smalloc-machine=%t.json %s 2>&1 | FileCheck %s
// CHECK: error: smalloc: cannot use machine profile ({{.*}}.json): it is nested too deeply
int x;
