// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a gather written with vector intrinsics is a gather.
// Vector gathers and masked loads are no references.
// RUN: %remarks -mavx2 %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}}: malloc of n*8 bytes in 'f': picked at random through loaded indices
#include <immintrin.h>
#include <stdlib.h>
void keep(double *);
double f(long n, const int *index, long m) {
  double *a = malloc(n * sizeof(double));
  keep(a);
  __m256d s = _mm256_setzero_pd();
  for (long i = 0; i + 4 <= m; i += 4)
    s = _mm256_add_pd(s, _mm256_i32gather_pd(a, _mm_loadu_si128((const __m128i *)(index + i)), 8));
  return s[0] + s[1] + s[2] + s[3];
}
