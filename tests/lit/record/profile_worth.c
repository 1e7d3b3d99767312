// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a record says what a superpage is worth by the profile: the benefit by the superpages that give it, the most
// where a line says nothing of that, and nothing for base pages.
// RUN: rm -rf %t && %clang -O2 -c -o /dev/null -fplugin-arg-smalloc-sites=%t %s
// RUN: %python -c "import json,glob; d=json.load(open(glob.glob('%t/*.json')[0])); print('# smalloc.directives/1'); [print(s['id'], w) for s, w in zip(sorted(d['sites'], key=lambda s: s['line']), ['page=2m rank=1 pmb=87.55 superpages=512', 'page=2m', 'page=base pmb=0.5 superpages=4', 'page=2m rank=2 pmb=0.001 superpages=4096'])]" > %t.directives
// RUN: %clang -O2 -fplugin-arg-smalloc-profile-use=%t.directives -S -emit-llvm -o - %s | FileCheck %s
// CHECK-DAG: i32 175100, i32 0, [{{.*}}c"first\00
// CHECK-DAG: i32 -1, i32 0, [{{.*}}c"second\00
// CHECK-DAG: i32 0, i32 0, [{{.*}}c"third\00
// CHECK-DAG: i32 1, i32 0, [{{.*}}c"fourth\00
#include <stdlib.h>
double *first(size_t n) { return malloc(n); }
double *second(size_t n) { return malloc(n); }
double *third(size_t n) { return malloc(n); }
double *fourth(size_t n) { return malloc(n); }
