// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// EP-like: Gaussian deviates by the polar method, each thread in a buffer of its own; little memory
// beyond the caches. One thread initialised all buffers.
// Result: acceptance pi/4 and mean 0 within five standard deviations.
#include "kernel.h"
#include <omp.h>

int main(int argc, char **argv) {
  arguments o = parse(argc, argv, 8192, 160, 64);
  const size_t pairs = o.size;
  const int threads = omp_get_max_threads();
  const size_t each = (2 * pairs + 511) & ~(size_t)511; // whole pages
  double *x = array(each * threads, sizeof *x);
#pragma omp parallel for if (o.parallel)
  for (int t = 0; t < threads; t++)
    for (size_t i = 0; i < each; i++)
      x[t * each + i] = 0;
  double sum = 0, accepted = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum, accepted)
  for (int batch = 0; batch < o.steps; batch++) {
    double *mine = x + omp_get_thread_num() * each;
    for (size_t i = 0; i < 2 * pairs; i++)
      mine[i] = 2 * random_at((unsigned long long)batch * 2 * pairs + i) - 1;
    for (size_t i = 0; i < pairs; i++) {
      double a = mine[2 * i], b = mine[2 * i + 1], t = a * a + b * b;
      if (t <= 1 && t > 0) {
        accepted++;
        sum += (a + b) * sqrt(-2 * log(t) / t);
      }
    }
  }
  double n = (double)pairs * o.steps, share = M_PI / 4;
  double off_share = fabs(accepted / n - share) / sqrt(share * (1 - share) / n);
  double off_mean = fabs(sum / accepted) / sqrt(2 / accepted);
  free(x);
  return report("ep", off_share > off_mean ? off_share : off_mean, 5);
}
