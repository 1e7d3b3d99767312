// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an object flows to the virtual functions of its own class, by the table that its constructor sets; not to those
// of another class with the same base.
// RUN: %clangxx -O2 -c -o %t.1.o %s && %clangxx -O2 -DMAKER -c -o %t.2.o %s
// RUN: %python %S/Inputs/keys.py %t.1.o > %t.1 && %python %S/Inputs/keys.py %t.2.o > %t.2
// RUN: cat %t.1 %t.2 | FileCheck %s
// CHECK-DAG: flow [[DENSE:[0-9a-f]+]] -> {{[0-9a-f]+}} argument 1 of _ZNK5Dense3sumEv{{$}}
// CHECK-DAG: flow [[SPARSE:[0-9a-f]+]] -> {{[0-9a-f]+}} argument 1 of _ZNK6Sparse3sumEv{{$}}
// CHECK-DAG: flow [[SITE:[0-9a-f]+]] -> [[DENSE]] object of _ZTV5Dense{{$}}
// CHECK-NOT: -> [[SPARSE]] object of _ZTV6Sparse{{$}}
#include <cstddef>
struct Matrix {
  virtual double sum() const = 0;
};
struct Dense : Matrix {
  double cells[1 << 20];
  double sum() const override;
};
struct Sparse : Matrix {
  double cells[100];
  double sum() const override;
};
#ifdef MAKER
Matrix *make() { return new Dense; }
#else
double Dense::sum() const {
  double s = 0;
  for (double c : cells)
    s += c;
  return s;
}
double Sparse::sum() const {
  double s = 0;
  for (double c : cells)
    s += c;
  return s;
}
#endif
