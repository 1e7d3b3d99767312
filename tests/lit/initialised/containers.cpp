// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: constructors that fill: a copy, a range, a fill, a value, elements with a constructor of their own; reserved memory is not filled.
// The IR of older versions does not show that the loop ends where the object does.
// REQUIRES: llvm-22
// RUN: %remarksxx %s 2>&1 | FileCheck %s
// CHECK-DAG: containers.cpp:[[@LINE+15]]:{{.*}}at the first touch since every byte is written
// CHECK-DAG: containers.cpp:[[@LINE+18]]:{{.*}}at the first touch since every byte is written
// CHECK-DAG: containers.cpp:[[@LINE+21]]:{{.*}}at the first touch since every byte is written
// CHECK-DAG: containers.cpp:[[@LINE+28]]:{{.*}}at the first touch since every byte is written
// CHECK-DAG: containers.cpp:[[@LINE+34]]:{{.*}}superpages from {{[0-9.]*}} MiB on: new
#include <algorithm>
#include <memory>
#include <vector>
static inline double gather(const double *a, const std::vector<int> &pick) {
  double s = 0;
  for (int i : pick)
    s += a[i];
  return s;
}
double copy(const std::vector<double> &from, const std::vector<int> &pick) {
  std::vector<double> v(from);
  return gather(v.data(), pick);
}
double value(long n, const std::vector<int> &pick) {
  std::unique_ptr<double[]> p(new double[n]());
  return gather(p.get(), pick);
}
double fill(long n, const std::vector<int> &pick) {
  double *p = new double[n];
  std::fill(p, p + n, 3.0);
  double s = gather(p, pick);
  delete[] p;
  return s;
}
struct Cell { double at = 1, next = 2; };
double constructed(long n, const std::vector<int> &pick) {
  auto *p = new Cell[n];
  double s = gather(&p->at, pick);
  delete[] p;
  return s;
}
double reserved(long n, const std::vector<int> &pick) {
  std::vector<double> v;
  v.reserve(n);
  v.push_back(1);
  return gather(v.data(), pick);
}
