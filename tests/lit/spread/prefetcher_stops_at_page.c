// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: where the prefetcher stops at the end of a page, a stream of long steps pays.
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off -fplugin-arg-smalloc-machine=%S/Inputs/stops_at_page.json %s 2>&1 | FileCheck %s --check-prefix=STOPS
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off -fplugin-arg-smalloc-machine=%S/Inputs/hashed.json %s 2>&1 | FileCheck %s --check-prefix=GOES
// STOPS: superpages{{.*}}: malloc of 16777216 bytes in 'f'
// GOES: base pages: malloc of 16777216 bytes in 'f': streamed
#include <stdlib.h>
double f(int rounds) {
  double *a = malloc(1 << 24), s = 0;
  for (long i = 0; i < 1 << 21; i++)
    a[i] = i;
  for (int r = 0; r < rounds; r++)
    for (long i = 0; i < 1 << 21; i += 128)
      s += a[i] * r;
  free(a);
  return s;
}
