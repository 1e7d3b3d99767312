// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: (the opposite) a loop that a later request runs, in the same function, proves nothing.
// A branch right before the loop passes for its guard.
// RUN: %remarks -fplugin-arg-smalloc-heap=superpage %s 2>&1 | FileCheck %s
// CHECK: remark: superpages: 
#include <stdlib.h>
int next_request(void);
double *f(long n) {
  double *a = malloc(n * sizeof(double));
  for (;;)
    switch (next_request()) {
    case 0:
      return a;
    case 1:
      for (long i = 0; i < n; i++)
        a[i] = i;
      break;
    }
}
