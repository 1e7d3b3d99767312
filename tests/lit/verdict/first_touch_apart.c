// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the faults that superpages save are counted apart from the walks, also where no walk is saved.
// RUN: rm -rf %t && %clang -O2 -c -o /dev/null -fplugin-arg-smalloc-sites=%t %s && cat %t/*.json | FileCheck %s
// 512 superpages, 511 faults less for each.
// CHECK: "first_touch_faults_saved": 261632
// CHECK: "fully_initialised": true
// CHECK: "saving_cycles_per_access": 0
#include <stdlib.h>
double f(int rounds) {
  double *a = malloc(1 << 30), s = 0;
  for (long i = 0; i < 1 << 27; i++)
    a[i] = i;
  for (int r = 0; r < rounds; r++)
    for (long i = 0; i < 1 << 27; i++)
      s += a[i] * r;
  free(a);
  return s;
}
