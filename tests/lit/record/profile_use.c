// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a profile's line for one context goes before the site's own, which serves every other context; and
// of two lines for a site the first counts.
// RUN: rm -rf %t && %clang -O2 -c -o /dev/null -fplugin-arg-smalloc-sites=%t %s
// RUN: %python %S/Inputs/directives.py %t > %t.directives
// RUN: %clang -O2 -fplugin-arg-smalloc-profile-use=%t.directives -S -emit-llvm -o - %s | FileCheck %s
// Base pages; superpages for a site that is rewritten, small and escapes.
// CHECK: .cell = {{.*}}{ i64, i64, i64 } { i64 0,
// CHECK: .cell = {{.*}}{ i64, i64, i64 } { i64 [[#0x1150D01]],
#include <stdlib.h>
struct node {
  struct node *next;
  double values[6];
};
void keep(struct node *);
static inline void *grab(size_t n) { return malloc(n); }
void add(double v) {
  struct node *p = grab(sizeof *p);
  p->values[0] = v;
  keep(p);
}
void add_another(double v) {
  struct node *p = grab(sizeof *p);
  p->values[0] = v;
  keep(p);
}
