/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * a 5 by 5 window over an image */
#include "nest.h"

static void convolve(long n, long edge, const float *image, const float *window, float *out) {
  for (long y = 0; y < n - edge + 1; y++)
    for (long x = 0; x < n - edge + 1; x++) {
      float s = 0;
      for (long v = 0; v < edge; v++)
        for (long u = 0; u < edge; u++)
          s += image[(y + v) * n + x + u] * window[v * edge + u];
      out[y * n + x] = s;
    }
}

static void pixels(long n, float *image) {
  for (long i = 0; i < n; i++)
    image[i] = (float)(i & 255);
}

int main(void) {
  SIZE(n, 900);
  SIZE(edge, 5);
  float *image = ARRAY(float, n *n);
  float *window = ARRAY(float, edge *edge);
  float *out = ARRAY(float, n *n);
  pixels(n * n, image);
  pixels(edge * edge, window);
  convolve(n, edge, image, window, out);
  USE(out[7]);
}
