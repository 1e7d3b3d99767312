// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a base page that is no page size is an error.
// RUN: echo '{"schema":"smalloc.machine/1","name":"x","base_page_bytes":5000,"tlb":[]}' > %t.json
// RUN: not %clang -O2 -c -o %t.o -fplugin-arg-smalloc-machine=%t.json %s 2>&1 | FileCheck %s
// CHECK: error: smalloc: cannot use machine profile ({{.*}}.json): key 'base_page_bytes' is 5000, not a power of two
int x;
