// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: descriptors survive strip, and a linked program has no dynamic relocation in them.
// RUN: %clang -O2 -fPIE -pie -o %t %s && llvm-strip %t && llvm-readelf -S -r %t > %t.txt
// RUN: llvm-objcopy --dump-section smalloc_sites=%t.bin %t %t.copy && %python %S/Inputs/read_sites.py %t.bin | FileCheck %s
// CHECK: function=main {{.*}} callee=malloc
// RUN: llvm-readelf -SW %t | grep smalloc_ > %t.sections && FileCheck --check-prefix=SECTIONS %s < %t.sections
// SECTIONS-DAG: smalloc_sites PROGBITS
// SECTIONS-DAG: smalloc_cells PROGBITS
// RUN: %python %S/Inputs/no_relocations.py %t
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  double *a = malloc(argc * 100000 * sizeof(double)), s = 0;
  for (long i = 0; i < argc; i++)
    s += a[argv[i][0] * 100] += i;
  printf("%f\n", s);
  free(a);
  return 0;
}
