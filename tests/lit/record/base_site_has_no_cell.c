// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a site that stays a plain call has a descriptor and no cell.
// RUN: %clang -O2 -c -o %t.o %s && llvm-readelf -S %t.o | FileCheck %s
// CHECK-NOT: smalloc_cells
// CHECK: smalloc_sites
// CHECK-NOT: smalloc_cells
#include <stdlib.h>
void keep(void *);
int main(void) {
  keep(malloc(100));
  return 0;
}
