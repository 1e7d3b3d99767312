// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: one object below a superpage is left alone even if it escapes.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: base pages: malloc of 1000 bytes in 'main'
#include <stdlib.h>
void keep(void *);
int main(void) {
  keep(malloc(1000));
  return 0;
}
