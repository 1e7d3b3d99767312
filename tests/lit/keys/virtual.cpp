// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: what a virtual function returns and gets has a key by a class and the place in its table: the caller's class, and
// all that the function's class begins with; a base that is not the first has none.
// Types of pointers are in the IR since LLVM 20 (-fpointer-tbaa), not in those of LLVM 19.
// REQUIRES: llvm-21
// RUN: %clangxx -O2 -c -o %t.1.o %s && %clangxx -O2 -DCALLER -c -o %t.2.o %s
// RUN: %python %S/Inputs/keys.py %t.1.o > %t.1 && %python %S/Inputs/keys.py %t.2.o > %t.2
// RUN: cat %t.1 %t.2 | FileCheck %s
// CHECK-DAG: flow {{[0-9a-f]+}} -> {{[0-9a-f]+}} result of virtual function 1 of _Z6Middle{{$}}
// CHECK-DAG: flow {{[0-9a-f]+}} -> [[TAKE:[0-9a-f]+]] result of virtual function 1 of _Z4Pool{{$}}
// CHECK-DAG: flow {{[0-9a-f]+}} -> [[GIVE:[0-9a-f]+]] argument 2 of virtual function 0 of _Z4Pool{{$}}
// CHECK-DAG: flow [[GIVE]] -> {{[0-9a-f]+}} argument 2 of _ZN4Heap4giveEPd{{$}}
// CHECK-DAG: access [[TAKE]] result of virtual function 1 of _Z4Pool pattern=4
// CHECK-NOT: of _Z5Other
#include <cstdlib>
struct Pool {
  virtual void give(double *p) = 0;
  virtual double *take(size_t n) = 0;
};
#ifdef CALLER
double use(Pool &pool, const int *at, size_t n, double *old) {
  double *p = pool.take(n), s = 0;
  pool.give(old);
  for (size_t i = 0; i < n; i++)
    s += p[at[i]];
  return s;
}
#else
struct Other {
  virtual double *other(size_t n);
};
struct Middle : Pool {
  double *take(size_t n) override = 0;
};
struct Heap : Middle, Other {
  void give(double *p) override;
  double *take(size_t n) override;
  double *other(size_t n) override;
};
void Heap::give(double *p) { free(p); }
double *Heap::take(size_t n) { return static_cast<double *>(malloc(n * sizeof(double))); }
double *Heap::other(size_t n) { return take(n); }
#endif
