// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a machine file whose top level is a list is an error.
// RUN: echo '[1]' > %t.json
// RUN: not %clang -O2 -c -o %t.o -fplugin-arg-smalloc-machine=%t.json %s 2>&1 | FileCheck %s
// CHECK: error: smalloc: cannot use machine profile ({{.*}}.json): it is not a JSON object
int x;
