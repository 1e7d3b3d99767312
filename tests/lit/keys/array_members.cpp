// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: arrays of pointers or containers inside a class are keys, by one place for elements that an index of the run
// time picks, which has what is stored by a constant index, and not what other members hold.
// The IR of older versions does not say which element of an array is loaded.
// REQUIRES: llvm-22
// RUN: %clangxx -O2 -c -o %t.o %s && %python %S/Inputs/keys.py %t.o | FileCheck %s
// CHECK-DAG: flow {{.*}} -> [[THIRD:[0-9a-f]+]] byte 16 of struct Grid{{$}}
// CHECK-DAG: flow [[THIRD]] -> [[ANY:[0-9a-f]+]] elements from byte 0 of struct Grid{{$}}
// CHECK-DAG: access [[ANY]] elements from byte 0 of struct Grid pattern=4
// CHECK-DAG: flow {{.*}} -> [[ROW:[0-9a-f]+]] elements from byte 56 of struct Grid{{$}}
// CHECK-DAG: flow [[ROW]] -> [[ROWREAD:[0-9a-f]+]] elements from byte 56 of struct Grid{{$}}
// CHECK-DAG: access [[ROWREAD]] elements from byte 56 of struct Grid pattern=4
// CHECK-DAG: access {{.*}} byte 48 of struct Grid pattern=2
#include <array>
#include <cstdlib>
#include <vector>
struct Grid {
  double *column[6];
  unsigned char *log;
  std::array<std::vector<float>, 9> row;
};
void make(Grid &g, unsigned long n) {
  g.column[2] = static_cast<double *>(malloc(n * 8));
  g.column[3] = static_cast<double *>(malloc(n * 8));
}
void make_row(Grid &g, int which, unsigned long n) { g.row[which] = std::vector<float>(n); }
double gather(const Grid &g, int which, const unsigned *at, unsigned long n) {
  double x = 0;
  for (unsigned long i = 0; i < n; i++)
    x += g.column[which][at[i]] + g.row[which][at[i]];
  return x;
}
double scan(const Grid &g, unsigned long n) {
  double x = 0;
  for (unsigned long i = 0; i < n; i++)
    x += g.log[i];
  return x;
}
