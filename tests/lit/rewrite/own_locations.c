// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: locations that only the plugin asked for go when it has read them; those that somebody else wants, or a
// link with LTO will, stay; the record has its line in any case, its column where somebody else wants locations.
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s
// RUN: %clang -O2 -fplugin-arg-smalloc-profile-generate -S -emit-llvm -o - %s | FileCheck --check-prefix=TRACED --implicit-check-not='!dbg' %s
// RUN: %clang -O2 -Rpass=inline -S -emit-llvm -o - %s | FileCheck --check-prefix=KEPT %s
// RUN: %clang -O2 -gline-tables-only -S -emit-llvm -o - %s | FileCheck --check-prefix=KEPT %s
// RUN: %clang -O2 -flto -S -emit-llvm -o - %s | FileCheck --check-prefix=KEPT %s
// CHECK: @__smalloc_v1_site_{{.*}} i32 19, i32 0,
// CHECK-NOT: !dbg
// TRACED: @__smalloc_v1_site_{{.*}} i32 19, i32 32,
// KEPT: @__smalloc_v1_site_{{.*}} i32 19, i32 32,
// KEPT: call {{.*}}@__smalloc_v1_thunk_malloc{{.*}} !dbg
#include <stdlib.h>

void use(double *);

void f(const int *x, long n) {
  double *a = (double *)(void*)malloc(n * sizeof(double));
  for (long i = 0; i < n; i++)
    a[x[i]] = i;
  use(a);
}
