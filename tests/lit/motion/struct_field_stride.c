// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a load from an invariant address, the struct's field of columns, is an invariant stride.
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// CHECK: superpages from 8.0 MiB on{{.*}}: malloc of n*8 bytes in 'f': walked across rows (a stride known at run time) in the nest of 2 loops
#include <stdlib.h>
struct matrix {
  double *data;
  long rows, columns;
};
extern volatile int stores_may_alias;
void observe(double *);
double f(const struct matrix *shape) {
  long n = shape->rows * shape->columns;
  struct matrix m = {malloc(n * sizeof(double)), shape->rows, shape->columns};
  for (long j = 0; j < shape->columns; j++)
    for (long i = 0; i < shape->rows; i++) {
      m.data[i * shape->columns + j] += 1;
      stores_may_alias = 1;
    }
  observe(m.data);
  return 0;
}
