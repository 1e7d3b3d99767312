// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdlib.h>
double gather(const int *x, long n) {
  double *a = malloc(n * sizeof(double)), s = 0;
  for (long i = 0; i < n; i++)
    s += a[x[i]] += i;
  free(a);
  return s;
}
void keep(char *);
int main(void) {
  keep(calloc(100, 1));
  return 0;
}
