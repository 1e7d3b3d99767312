// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: functions that call setjmp are compiled.
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK: call {{.*}}@__smalloc_v1_thunk_malloc(
#include <setjmp.h>
#include <stdlib.h>
jmp_buf here;
void keep(void *);
int f(long n) {
  void *volatile p = malloc(n);
  keep(p);
  if (setjmp(here))
    return 1;
  keep(malloc(n * 2));
  longjmp(here, 1);
}
