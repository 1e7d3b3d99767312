// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a virtual call reaches the functions that the objects' constructors put in place, by their offset in the
// table, and no other function of it.
// RUN: %remarksxx -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// CHECK-DAG: superpages from {{.*}}: new[] of n*8 bytes in 'f(long, int)': picked at random through loaded indices in the loop at line 20
// CHECK-DAG: base pages: new[] of n*4 bytes in 'f(long, int)': streamed in the loop
namespace {
struct Base {
  virtual double look(const double *a, const int *index, long m) = 0;
  virtual double note(const int *a, long m) {
    double s = 0;
    for (long i = 0; i < m; i++)
      s += a[i];
    return s;
  }
};
struct Gather final : Base {
  double look(const double *a, const int *index, long m) override {
    double s = 0;
    for (long i = 0; i < m; i++)
      s += a[index[i]];
    return s;
  }
};
struct First final : Base {
  double look(const double *a, const int *index, long m) override { return a[index[0]] + m; }
};
} // namespace
__attribute__((noinline)) static double work(Base *b, const double *a, const int *index, long m) {
  return b->look(a, index, m) + b->note(index, m);
}
double f(long n, int kind) {
  double *a = new double[n];
  int *index = new int[n];
  for (long i = 0; i < n; i++)
    a[i] = index[i] = i;
  Base *b = kind ? static_cast<Base *>(new Gather) : new First;
  double s = work(b, a, index, n);
  delete[] a;
  delete[] index;
  return s;
}
