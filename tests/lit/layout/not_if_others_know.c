// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an array that somebody else knows, or that is used otherwise than by subscripts, stays as it is, and the remark says why.
// RUN: %clang -O2 -fplugin-arg-smalloc-layout=on -Rpass-missed=smalloc -S -emit-llvm -o - %s 2>&1 | FileCheck %s
// RUN: %clang -O2 -g -DDEBUG -fplugin-arg-smalloc-layout=on -Rpass-missed=smalloc -S -emit-llvm -o - %s 2>&1 | FileCheck --check-prefix=G %s
// CHECK-DAG: layout: rows of 'seen' are 8192 bytes long, so that a column falls into the same cache sets on superpages; rows of 8256 bytes would not: not padded, since other units can access it [-Rpass-missed=smalloc]
// CHECK-DAG: rows of 'passed' {{.*}} since a call gets its address
// CHECK-DAG: rows of 'cleared' {{.*}} since a call gets its address
// CHECK-DAG: rows of 'flat' {{.*}} since its address is taken
// CHECK-DAG: rows of 'kept' {{.*}} since its address is taken
// CHECK-DAG: rows of 'punned' {{.*}} since its address is taken
// CHECK-NOT: x [1032 x double]]
// G: rows of 'private_one' {{.*}} since debug information describes its layout (-g)
#include <string.h>
double seen[1024][1024];
static double passed[1024][1024], cleared[1024][1024], flat[1024][1024], kept[1024][1024], punned[1024][1024];
static double valued[1024][1024] = {{1, 2, 3}}; // no array to LLVM
void use(double *row);
double *keep;
double f(int i, int j) {
  seen[i][j] = 1;
  use(passed[i]);
  memset(cleared, 0, sizeof cleared);
  double *p = flat[0];
  for (int k = 0; k < 1024 * 1024; k++)
    p[k] += 1;
  keep = &kept[i][j];
  valued[i][j] += 1;
  return passed[i][j] + cleared[i][j] + flat[j][i] + kept[i][j] + (double)*(long *)&punned[i][j];
}
#ifdef DEBUG
static double private_one[1024][1024];
void g(int i, int j) { private_one[i][j] += private_one[j][i]; }
#endif
