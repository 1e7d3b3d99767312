// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an object stored into an escaped object escapes with it.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: undecided: malloc of n bytes in 'inner': {{.*}}its pointer leaves the unit
#include <stdlib.h>
struct holder {
  void *inner;
};
void keep(struct holder *);
static void *inner(long n) { return malloc(n); }
void f(long n) {
  struct holder *h = malloc(sizeof *h);
  h->inner = inner(n);
  keep(h);
}
