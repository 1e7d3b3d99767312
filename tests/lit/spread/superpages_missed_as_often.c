// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a column whose rows lie superpages apart gains nothing where the TLB holds few superpages.
// RUN: %remarks -fplugin-arg-smalloc-machine=%S/Inputs/few_superpages.json %s 2>&1 | FileCheck %s --check-prefix=FEW
// RUN: %remarks -fplugin-arg-smalloc-machine=%S/Inputs/hashed.json %s 2>&1 | FileCheck %s --check-prefix=MANY
// FEW: base pages: malloc of {{.*}} in 'f'
// MANY: superpages{{.*}}: malloc of {{.*}} in 'f'
#include <stdlib.h>
enum { Rows = 48 };
struct row {
  double used[8];
  char rest[(2 << 20) + 4096 - 64];
};
double f(int rounds) {
  struct row *a = malloc(Rows * sizeof(struct row)), *b = malloc(Rows * sizeof(struct row));
  double s = 0;
  for (long i = 0; i < Rows; i++)
    for (long j = 0; j < 8; j++)
      a[i].used[j] = b[i].used[j] = i + j;
  for (int r = 0; r < rounds; r++)
#pragma clang loop unroll(disable)
    for (long i = 0; i < Rows; i++)
      s += a[i].used[0] * b[i].used[0] * r;
  free(a);
  free(b);
  return s;
}
