// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: rows of 4 KiB and its multiples get a cache line more, where only subscripts reach them; never without the option.
// RUN: %clang -O2 -fplugin-arg-smalloc-layout=on -Rpass=smalloc -S -emit-llvm -o - %s 2>&1 | FileCheck %s
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck --check-prefix=OFF %s
// CHECK-DAG: remark: layout: rows of 'a' are made 8256 bytes long instead of 8192, since a column falls into the same cache sets on superpages [-Rpass=smalloc]
// CHECK-DAG: @a = internal unnamed_addr global [1024 x [1032 x double]] zeroinitializer
// CHECK-DAG: @cube = internal unnamed_addr global [32 x [32 x [520 x double]]] zeroinitializer
// CHECK-DAG: @odd = internal unnamed_addr global [1024 x [1000 x double]]
// CHECK-DAG: @few = internal unnamed_addr global [8 x [1024 x double]]
// OFF-DAG: @a = internal unnamed_addr global [1024 x [1024 x double]]
// OFF-DAG: @cube = internal unnamed_addr global [32 x [32 x [512 x double]]]
static double a[1024][1024], cube[32][32][512], odd[1024][1000], few[8][1024];
void set(int i, int j, double x) {
  a[i][j] = x + a[3][5];
  a[7][1] += odd[i][j];
  odd[j][i] = few[j & 7][i];
  few[i][j] = x;
  cube[i][j][i + j] = x;
}
double column(int j) {
  double s = a[0][0] + cube[j][1][2];
  for (int i = 0; i < 1024; i++)
    s += a[i][j];
  return s;
}
