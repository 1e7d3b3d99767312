// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a line that validation has given up, and all lines of a program that has been slower with superpages,
// are compiled in as base pages; a line that holds often enough stands.
// RUN: rm -rf %t && %clang -O2 -c -o /dev/null -fplugin-arg-smalloc-sites=%t %s
// RUN: %python %S/Inputs/held_directives.py %t 1/2 > %t.stands
// RUN: %python %S/Inputs/held_directives.py %t 1/3 > %t.given_up
// RUN: %python %S/Inputs/held_directives.py %t 3/3 verdict=slower > %t.slower
// RUN: %clang -O2 -fplugin-arg-smalloc-profile-use=%t.stands -S -emit-llvm -o - -Rpass=smalloc %s 2>&1 | FileCheck --check-prefix=STANDS %s
// RUN: %clang -O2 -fplugin-arg-smalloc-profile-use=%t.given_up -S -emit-llvm -o - -Rpass-missed=smalloc %s 2>&1 | FileCheck --check-prefix=HELD %s
// RUN: %clang -O2 -fplugin-arg-smalloc-profile-use=%t.slower -S -emit-llvm -o - -Rpass-missed=smalloc %s 2>&1 | FileCheck --check-prefix=SLOWER %s
// STANDS: the profile decides this site (rank 1, 50 % of the benefit)
// STANDS: .cell = {{.*}}{ i64, i64, i64 } { i64 {{[1-9][0-9]*}},
// HELD: given up: it held in 1 of 3 runs; the profile decides this site (rank 1
// HELD: .cell = {{.*}}{ i64, i64, i64 } { i64 0,
// SLOWER: given up: the program has been slower with superpages than without
// SLOWER: .cell = {{.*}}{ i64, i64, i64 } { i64 0,
#include <stdlib.h>
void keep(double *);
void make(long n) {
  double *p = malloc(n * sizeof *p);
  for (long i = 0; i < n; i++)
    p[i] = i;
  keep(p);
}
