// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the descriptor and the summary are in llvm.used, so that the linker keeps the table that __start_ refers to.
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK: @[[SITE:__smalloc_v1_site_[0-9a-f]+_[0-9a-f]+_0]] = internal constant {{.*}}, section "smalloc_sites", align 8
// CHECK-DAG: @llvm.used = {{.*}}[ptr @[[SITE]], ptr @__smalloc_v1_keys]
// CHECK-DAG: @llvm.compiler.used = {{.*}}[ptr @[[SITE]].cell
#include <stdlib.h>
void *f(long n) { return malloc(n); }
