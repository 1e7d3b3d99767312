// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: more ways than entries is an error.
// RUN: echo '{"schema":"smalloc.machine/1","name":"x","tlb":[{"level":1,"page_bytes":[4096],"entries":16,"ways":17}]}' > %t.json
// RUN: not %clang -O2 -c -o %t.o -fplugin-arg-smalloc-machine=%t.json %s 2>&1 | FileCheck %s
// CHECK: error: smalloc: cannot use machine profile ({{.*}}.json): key 'tlb[0].ways' is more than its entries
int x;
