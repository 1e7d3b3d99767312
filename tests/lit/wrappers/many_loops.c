// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a unit of many functions that fill what they return does not compile all of their loops twice; a few are, and
// one that has no loop is, wherever it stands.
// RUN: %python -c "[print('double *f%d(long n) { double *a = malloc(n * 8); for (long i = 0; i < n; i++) for (long j = 0; j < 4; j++) a[i] += %d * j * i; return a; }' % (i, i)) for i in range(40)]" > %t.h
// RUN: %clang -O1 -S -emit-llvm -include stdlib.h -include %t.h %s -o %t.ll
// RUN: grep -c 'define internal.*__smalloc_v1_with_cell_f' %t.ll > %t.copies
// RUN: %python -c "copies = int(open('%t.copies').read()); assert 1 <= copies <= 10, copies"
// RUN: FileCheck %s < %t.ll
// CHECK: define internal {{.*}}__smalloc_v1_with_cell_plain
void *plain(long n) { return malloc(n + 16); }
