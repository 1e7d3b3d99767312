/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * deriche: recursive filters along the rows and down the columns */
#include "nest.h"

static void along(long w, long h, const float *in, float *out) {
  for (long i = 0; i < h; i++) {
    float last = 0;
    for (long j = 0; j < w; j++) {
      last = in[i * w + j] * 0.4f + last * 0.6f;
      out[i * w + j] = last;
    }
  }
}

static void down(long w, long h, const float *in, float *out) {
  for (long j = 0; j < w; j++) {
    float last = 0;
    for (long i = h - 1; i >= 0; i--) {
      last = in[i * w + j] * 0.4f + last * 0.6f;
      out[i * w + j] = last;
    }
  }
}

static void pixels(long n, float *image) {
  for (long i = 0; i < n; i++)
    image[i] = (float)(i & 255);
}

int main(void) {
  SIZE(w, 1100);
  SIZE(h, 700);
  float *in = ARRAY(float, w *h);
  float *middle = ARRAY(float, w *h);
  float *out = ARRAY(float, w *h);
  pixels(w * h, in);
  along(w, h, in, middle);
  down(w, h, middle, out);
  USE(out[7]);
}
