// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stencil on a grid whose arrays are members of a structure and are filled plane by plane.
#include <stdio.h>
#include <stdlib.h>
typedef struct {
  int nx, ny, nz;
  double *u, *v;
  double **rows;
} Grid;
static Grid *grid_new(int a, int b, int c) {
  Grid *g = calloc(1, sizeof *g);
  g->nx = a;
  g->ny = b;
  g->nz = c;
  g->u = calloc((size_t)a * b * c, sizeof(double));
  g->v = calloc((size_t)a * b * c, sizeof(double));
  return g;
}
#define AT(p, i, j, k) p[((size_t)(i) * g->ny + (j)) * g->nz + (k)]
static void init(Grid *g) {
  for (int k = 0; k < g->nz; k++)
    for (int j = 0; j < g->ny; j++)
      for (int i = 0; i < g->nx; i++)
        AT(g->u, i, j, k) = (i * j + k) % 7;
}
static void step(Grid *g) {
  for (int i = 1; i < g->nx - 1; i++)
    for (int j = 1; j < g->ny - 1; j++)
      for (int k = 1; k < g->nz - 1; k++)
        AT(g->v, i, j, k) =
            (AT(g->u, i - 1, j, k) + AT(g->u, i + 1, j, k) + AT(g->u, i, j - 1, k) +
             AT(g->u, i, j + 1, k) + AT(g->u, i, j, k - 1) + AT(g->u, i, j, k + 1)) /
            6;
  double *t = g->u;
  g->u = g->v;
  g->v = t;
}
int main(int c, char **v) {
  int n = c > 1 ? atoi(v[1]) : 256;
  Grid *g = grid_new(n, n, n);
  init(g);
  for (int i = 0; i < 6; i++)
    step(g);
  double s = 0;
  for (size_t i = 0; i < (size_t)n * n * n; i += 97)
    s += g->u[i];
  printf("%g\n", s);
}
