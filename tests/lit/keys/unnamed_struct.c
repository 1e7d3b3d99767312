// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a structure of C that only a typedef names is known by its members, so rows of a matrix that one unit fills
// and another walks are found; other members make another key, and one pointer alone makes none.
// RUN: %clang -O2 -DFIRST -c -o %t.1.o %s && %clang -O2 -c -o %t.2.o %s
// RUN: %python %S/Inputs/keys.py %t.1.o > %t.1 && %python %S/Inputs/keys.py %t.2.o > %t.2
// RUN: FileCheck %s < %t.1 && FileCheck %s < %t.2
// RUN: not diff %t.1 %t.2
// CHECK: access {{[0-9a-f]+}} byte 8 of an unnamed struct pattern=2
// CHECK-NOT: byte 0 of an unnamed struct
#ifdef FIRST
typedef struct { int rows, cols; double **row; } matrix;
#else
typedef struct { long rows; double **row; } matrix;
#endif
typedef struct { double *cells; } alone;
double walk(const matrix *m, const alone *a, long n) {
  double s = 0;
  for (long i = 0; i < n; i++)
    for (long j = 0; j < n; j++)
      s += m->row[i][j] + a->cells[j];
  return s;
}
