// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: without -g a call that stands below the line where its statement begins, or behind another statement that its own
// holds, has another line than with -g; or the module says that it has debug information of CodeView's kind.
// RUN: %clang -O2 -c -o %t.o %s && llvm-strings %t.o | FileCheck %s
// RUN: %clang -O2 -g -c -o %t.1.o %s && ld.lld -r -o %t.g.o %t.1.o && llvm-objcopy --dump-section smalloc_sites=%t.bin %t.g.o && llvm-strings %t.bin | FileCheck %s
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck --check-prefix=FLAGS --implicit-check-not=CodeView %s
// FLAGS: llvm.module.flags
// CHECK-DAG: {{^}}declared {{.*}}inline_chain_below_its_statement.c:[[# @LINE + 16]]
// CHECK-DAG: {{^}}stored {{.*}}inline_chain_below_its_statement.c:[[# @LINE + 20]]
// CHECK-DAG: {{^}}repeated {{.*}}inline_chain_below_its_statement.c:[[# @LINE + 27]]
// CHECK-DAG: {{^}}counted {{.*}}inline_chain_below_its_statement.c:[[# @LINE + 32]]
// CHECK-DAG: {{^}}nested {{.*}}inline_chain_below_its_statement.c:[[# @LINE + 40]]
// CHECK-DAG: {{^}}plain {{.*}}inline_chain_below_its_statement.c:[[# @LINE + 42]]
// CHECK-DAG: {{^}}last {{.*}}inline_chain_below_its_statement.c:[[# @LINE + 45]]
#include <stdlib.h>
static inline double *make(long n) { return malloc(n * sizeof(double)); }
static inline void *raw(long n) { return malloc(n + 24); }
int prints(const char *, void *);
void keeps(int, void *);

double *declared(long n) {
  double *first = NULL,
         *second =
             make(n + 1);
  return first ? first : second;
}
void stored(double **to, long n) {
  to[n] = n > 1000
              ? make(n + 2)
              : NULL;
}
long repeated(long n) {
  long rounds = 0;
  do {
    rounds++;
    prints("round", NULL);
  } while (prints("again", make(rounds + n)));
  return rounds;
}
long counted(double **to, long n) {
  long i = 0;
  for (i = 0;
       to[i] != make(n + i);
       i++)
    n += i;
  return n;
}
void nested(double **to, long n) {
  to[0] = ({
    prints("nested", to);
    n++;
  }) ? make(n + 3) : NULL;
}
void plain(double **to, long n) {
  if (n) to[n] = make(n + 4);
}
static void last(int n) {
  keeps(n,
        raw(n));
}
void (*const lasts)(int) = last;
