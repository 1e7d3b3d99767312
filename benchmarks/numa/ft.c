// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FT-like: three-dimensional fast Fourier transforms. x and y are partitioned by planes of z, the z
// transform by rows of y. Every page is used by one node's threads in half of the passes and by
// another's in the other half, for a few steps only. In the paper, moving pages cost more here than
// it saved. As in the original kernel, several lines are transformed at a time through a buffer,
// and rows are one element longer than a power of two. Otherwise the z transform would miss the
// cache with each element, and nearly all traffic would be its own.
// Result: forward and backward must give the data back.
#include "kernel.h"
#include <complex.h>

enum { kBlock = 16 };

// Transforms `lines` neighbouring lines in place, n a power of two, with a stride; through a
// buffer.
static void fft(double complex *u, size_t stride, int n, int lines, int sign, double scale,
                double complex *b) {
  for (int i = 0, j = 0; i < n; i++) {
    for (int c = 0; c < lines; c++)
      b[c * n + j] = u[i * stride + c];
    int bit = n >> 1;
    for (; j & bit; bit >>= 1)
      j ^= bit;
    j |= bit;
  }
  for (int half = 1; half < n; half *= 2) {
    double complex turn = cexp(sign * I * M_PI / half), w;
    for (int from = 0; from < lines * n; from += 2 * half) {
      w = 1;
      for (int i = from; i < from + half; i++, w *= turn) {
        double complex odd = w * b[i + half];
        b[i + half] = b[i] - odd;
        b[i] += odd;
      }
    }
  }
  for (int i = 0; i < n; i++)
    for (int c = 0; c < lines; c++)
      u[i * stride + c] = scale * b[c * n + i];
}

int main(int argc, char **argv) {
  arguments o = parse(argc, argv, 64, 2, 4);
  int n = 4;
  while (2 * n <= o.size)
    n *= 2;
  const int block = n < kBlock ? n : kBlock;
  const size_t row = n + 1, plane = row * n;
  double complex *u = array(plane * n, sizeof *u);
#pragma omp parallel for if (o.parallel)
  for (int k = 0; k < n; k++)
    for (size_t i = 0; i < plane; i++)
      u[k * plane + i] = random_at(k * plane + i);
  for (int step = 0; step < 2 * o.steps; step++) {
    const int sign = step % 2 ? 1 : -1;
#pragma omp parallel
    {
      double complex b[block * n];
#pragma omp for
      for (int k = 0; k < n; k++) {
        for (int j = 0; j < n; j++)
          fft(u + k * plane + j * row, 1, n, 1, sign, 1, b);
        for (int i = 0; i < n; i += block)
          fft(u + k * plane + i, row, n, block, sign, 1, b);
      }
#pragma omp for
      for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i += block)
          fft(u + j * row + i, plane, n, block, sign, sign > 0 ? 1.0 / n / n / n : 1, b);
    }
  }
  double worst = 0;
  for (int k = 0; k < n; k++)
    for (size_t i = 0; i < plane; i += 7) {
      double e = cabs(u[k * plane + i] - random_at(k * plane + i));
      worst = e > worst ? e : worst;
    }
  free(u);
  return report("ft", worst, 1e-12);
}
