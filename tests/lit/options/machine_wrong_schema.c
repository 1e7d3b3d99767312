// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a machine file of another schema is an error.
// RUN: echo '{"schema":"smalloc.machine/2","name":"x"}' > %t.json
// RUN: not %clang -O2 -c -o %t.o -fplugin-arg-smalloc-machine=%t.json %s 2>&1 | FileCheck %s
// CHECK: error: smalloc: cannot use machine profile ({{.*}}.json): its schema is 'smalloc.machine/2', not 'smalloc.machine/1'
int x;
