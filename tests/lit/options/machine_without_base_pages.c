// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a machine file whose levels hold no base pages is an error.
// RUN: echo '{"schema":"smalloc.machine/1","name":"x","tlb":[{"level":1,"page_bytes":[2097152],"entries":32}]}' > %t.json
// RUN: not %clang -O2 -c -o %t.o -fplugin-arg-smalloc-machine=%t.json %s 2>&1 | FileCheck %s
// CHECK: error: smalloc: cannot use machine profile ({{.*}}.json): key 'tlb' has no data level with entries for pages of 4096 bytes
int x;
