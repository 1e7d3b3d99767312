// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a function of the unit that hands out fresh memory through an argument is seen through: each call of it is
// a site, with the walks of its own array; also one deeper, with an error code, a size beside the pointer, and a null for a failure.
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck --check-prefix=IR %s
#include <stdlib.h>
__attribute__((noinline)) static int buffer(double **out, size_t n) {
  *out = malloc(n * sizeof **out);
  return *out ? 0 : -1;
}
__attribute__((noinline)) static void must(double **out, size_t n) {
  double *p = aligned_alloc(64, n * sizeof *p);
  if (!p)
    abort();
  *out = p;
}
__attribute__((noinline)) static int deeper(size_t n, double **out) {
  if (n > 1ul << 40) {
    *out = NULL;
    return 22;
  }
  return buffer(out, n);
}
struct sized { double *cells; size_t n; };
__attribute__((noinline)) static int make(struct sized *s, size_t n) {
  s->n = n;
  return posix_memalign((void **)&s->cells, 64, n * sizeof(double));
}
void keep(double *);
__attribute__((noinline)) static double picked(double *p, const int *at, long n) {
  double s = 0;
  for (int t = 0; t < 9; t++)
    for (long i = 0; i < n; i++)
      s += p[at[i]];
  return s;
}
__attribute__((noinline)) static double walked(double *p, long n) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s += p[i];
  return s;
}
double use(const int *at, long n) {
  double *a, *b, *c, *d, *e, *f;
  struct sized g, h;
  // CHECK-DAG: hands_out.c:[[#@LINE+1]]:{{.*}}superpages from {{.*}}: buffer of {{.*}}: picked at random
  if (buffer(&a, n)) return 0;
  // CHECK-DAG: hands_out.c:[[#@LINE+1]]:{{.*}}base pages: buffer of {{.*}}: streamed
  if (buffer(&b, n)) return 0;
  // CHECK-DAG: hands_out.c:[[#@LINE+1]]:{{.*}}superpages from {{.*}}: must of {{.*}}: picked at random
  must(&c, n);
  // CHECK-DAG: hands_out.c:[[#@LINE+1]]:{{.*}}base pages: must of {{.*}}: streamed
  must(&d, n);
  // CHECK-DAG: hands_out.c:[[#@LINE+1]]:{{.*}}superpages from {{.*}}: deeper of {{.*}}: picked at random
  if (deeper(n, &e)) return 0;
  // CHECK-DAG: hands_out.c:[[#@LINE+1]]:{{.*}}base pages: deeper of {{.*}}: streamed
  if (deeper(n, &f)) return 0;
  // CHECK-DAG: hands_out.c:[[#@LINE+1]]:{{.*}}superpages from {{.*}}: make of {{.*}}: picked at random
  if (make(&g, n)) return 0;
  // CHECK-DAG: hands_out.c:[[#@LINE+1]]:{{.*}}base pages: make of {{.*}}: streamed
  if (make(&h, n)) return 0;
  return picked(a, at, n) + walked(b, n) + picked(c, at, n) + walked(d, n) + picked(e, at, n) + walked(f, n) +
         picked(g.cells, at, n) + walked(h.cells, n);
}
// IR-DAG: call {{.*}}i32 @__smalloc_v1_with_cell_buffer(ptr {{.*}}.cell)
// IR-DAG: call {{.*}}void @__smalloc_v1_with_cell_must(ptr {{.*}}.cell)
// IR-DAG: call {{.*}}i32 @__smalloc_v1_with_cell_deeper(i64 {{.*}}.cell)
// IR-DAG: call {{.*}}i32 @__smalloc_v1_with_cell_make(ptr {{.*}}.cell)
