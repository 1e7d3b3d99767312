// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a machine file's prefetcher decides what a stream is.
// RUN: echo '{"schema":"smalloc.machine/1","name":"near","tlb":[{"level":1,"page_bytes":[4096],"entries":2048,"ways":8}],"prefetch":{"max_stride_bytes":{"value":512,"source":"measured"}}}' > %t.json
// RUN: %remarks -fplugin-arg-smalloc-machine=%t.json %s 2>&1 | FileCheck %s
// CHECK: superpages{{.*}}: malloc of 1073741824 bytes in 'f': walked 1024 bytes apart
#include <stdlib.h>
double f(int rounds) {
  double *a = malloc(1 << 30), s = 0;
  for (long i = 0; i < 1 << 27; i++)
    a[i] = i;
  for (int r = 0; r < rounds; r++)
    for (long i = 0; i < 1 << 27; i += 128)
      s += a[i] * r;
  free(a);
  return s;
}
