// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A Fourier transform in place: bit reversal and butterflies whose strides double.
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
typedef double complex cd;
struct plan {
  int n;
  cd *in, *out, *w;
};
static void fill(cd *a, int n) {
  for (int i = 0; i < n; i++)
    a[i] = sin(i) + I * cos(2 * i);
}
static void run(struct plan *p) {
  int n = p->n, lg = 0;
  while (1 << lg < n)
    lg++;
  for (int i = 0; i < n; i++) {
    int r = 0;
    for (int b = 0; b < lg; b++)
      r |= (i >> b & 1) << (lg - 1 - b);
    p->out[r] = p->in[i];
  }
  for (int len = 2; len <= n; len *= 2)
    for (int i = 0; i < n; i += len)
      for (int j = 0; j < len / 2; j++) {
        cd u = p->out[i + j], v = p->out[i + j + len / 2] * p->w[j * (n / len)];
        p->out[i + j] = u + v;
        p->out[i + j + len / 2] = u - v;
      }
}
int main(int c, char **v) {
  int n = 1 << (c > 1 ? atoi(v[1]) : 22);
  struct plan p = {n, malloc(n * sizeof(cd)), malloc(n * sizeof(cd)), malloc(n / 2 * sizeof(cd))};
  fill(p.in, n);
  for (int i = 0; i < n / 2; i++)
    p.w[i] = cexp(-2 * M_PI * I * i / n);
  run(&p);
  double s = 0;
  for (int i = 0; i < n; i += 111)
    s += creal(p.out[i]);
  printf("%g\n", s);
}
