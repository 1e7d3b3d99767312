// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a machine file that is broken JSON is an error.
// RUN: echo '{"schema": ' > %t.json
// RUN: not %clang -O2 -c -o %t.o -fplugin-arg-smalloc-machine=%t.json %s 2>&1 | FileCheck %s
// CHECK: error: smalloc: cannot use machine profile ({{.*}}.json): it is not JSON: line 2, column 1
int x;
