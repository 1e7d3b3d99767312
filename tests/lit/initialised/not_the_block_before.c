// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: (the opposite) filling what a field, or posix_memalign's word, held before the allocation says
// nothing of the new object.
// RUN: %remarks -fplugin-arg-smalloc-heap=superpage %s 2>&1 | FileCheck %s
// CHECK-DAG: remark: superpages: malloc of n*8 bytes in 'through_a_field'
// CHECK-DAG: remark: superpages: posix_memalign of n*8 bytes in 'through_the_word'
// CHECK-DAG: remark: superpages, at the first touch since every byte is written: malloc of n*8 bytes in 'afterwards'
#include <stdlib.h>
struct table {
  double *cells;
};
void through_a_field(struct table *t, long n) {
  double *before = t->cells;
  for (long i = 0; i < n; i++)
    before[i] = i;
  t->cells = malloc(n * sizeof *t->cells);
}
int through_the_word(double **word, long n) {
  double *before = *word;
  for (long i = 0; i < n; i++)
    before[i] = i;
  return posix_memalign((void **)word, 64, n * sizeof **word);
}
void afterwards(struct table *t, long n, long *work) {
  t->cells = malloc(n * sizeof *t->cells);
  work[0] = 1; // may be t's own field: it is loaded again
  for (long i = 0; i < n; i++)
    t->cells[i] = i;
}
