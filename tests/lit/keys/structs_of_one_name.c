// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: two structures of one name and different members are different keys.
// RUN: %clang -O2 -DFIRST -c -o %t.1.o %s && %clang -O2 -c -o %t.2.o %s
// RUN: %python %S/Inputs/keys.py %t.1.o > %t.1 && %python %S/Inputs/keys.py %t.2.o > %t.2
// RUN: FileCheck %s < %t.1 && FileCheck %s < %t.2
// RUN: not diff %t.1 %t.2
// CHECK: access {{[0-9a-f]+}} byte 8 of struct node
#ifdef FIRST
struct node { double *unused, *cells; };
#else
struct node { long count; double *cells; };
#endif
double walk(const struct node *t, const int *pick, long n) {
  double s = 0;
  for (long k = 0; k < 3; k++)
    for (long i = 0; i < n; i++)
      s += t->cells[pick[i]];
  return s;
}
