// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a call of another unit's function that gets the address of one pointer beside a size is a site of its own,
// through a thunk that keeps void and narrow results; the unit of the function offers the other entry; and what one caller gets is
// not taken for what the others have.
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s
// RUN: %clang -O2 -S -emit-llvm -DDEFINED -o - %s | FileCheck --check-prefix=DEFINED %s
// RUN: %clang -O2 -c -o %t.o %s && %python %S/../keys/Inputs/keys.py %t.o | FileCheck --check-prefix=KEYS %s
#include <stdbool.h>
#include <stdlib.h>
struct sized { long k; double *cells; };
int buffer(double **out, size_t n);
bool flagged(size_t n, double **out);
void must(double **out, size_t n);
int two(double **out, double **other, size_t n);
int none(double **out, int n);
#ifdef DEFINED
// DEFINED-DAG: @__smalloc_v1_wrapper_buffer = weak hidden
// DEFINED-DAG: @__smalloc_v1_wrapper_must = weak hidden
// DEFINED-DAG: define internal {{.*}}i32 @__smalloc_v1_with_cell_buffer(
// DEFINED-NOT: @__smalloc_v1_wrapper_two
// DEFINED-NOT: @__smalloc_v1_wrapper_none
int buffer(double **out, size_t n) {
  double *p = malloc(n * sizeof *p);
  if (!p)
    return -1;
  *out = p;
  return 0;
}
void must(double **out, size_t n) {
  if (!(*out = malloc(n * sizeof **out)))
    abort();
}
int two(double **out, double **other, size_t n) {
  *out = malloc(n * sizeof **out);
  *other = malloc(n * sizeof **out);
  return 0;
}
int none(double **out, int n) {
  *out = malloc((size_t)n * sizeof **out);
  return 0;
}
#else
// CHECK-DAG: define linkonce_odr hidden i32 @__smalloc_v1_context_{{[0-9a-f]+}}_buffer(ptr {{.*}}%0, i64 {{.*}}%1, ptr %2)
// CHECK-DAG: define linkonce_odr hidden zeroext i1 @__smalloc_v1_context_{{[0-9a-f]+}}_flagged(
// CHECK-DAG: define linkonce_odr hidden void @__smalloc_v1_context_{{[0-9a-f]+}}_must(
// CHECK-DAG: call i32 @__smalloc_v1_context_{{[0-9a-f]+}}_buffer({{.*}}.cell
// CHECK-NOT: __smalloc_v1_context_{{[0-9a-f]+}}_two
// CHECK-NOT: __smalloc_v1_context_{{[0-9a-f]+}}_none
// KEYS: flow [[SITE:[0-9a-f]+]] -> {{[0-9a-f]+}} local memory of use to-contents
// KEYS-NOT: flow [[SITE]] -> {{[0-9a-f]+}} argument 1 of buffer to-contents
double use(struct sized *s, const int *at, size_t n) {
  double *a, *b, *c, *d, *e, *f, x = 0;
  if (buffer(&a, n) || !flagged(n, &b) || two(&d, &e, n) || none(&f, (int)n))
    return 0;
  must(&c, n);
  buffer(&s->cells, n);
  for (size_t i = 0; i < n; i++)
    x += a[at[i]] + b[at[i]] + c[at[i]] + d[i] + e[i] + f[i] + s->cells[i];
  return x;
}
#endif
