// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an absurd number of entries is an error.
// RUN: echo '{"schema":"smalloc.machine/1","name":"x","tlb":[{"level":1,"page_bytes":[4096],"entries":1e300}]}' > %t.json
// RUN: not %clang -O2 -c -o %t.o -fplugin-arg-smalloc-machine=%t.json %s 2>&1 | FileCheck %s
// CHECK: error: smalloc: cannot use machine profile ({{.*}}.json): key 'tlb[0].entries' is 1e+300, outside 0 to 16777216
int x;
