// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a compressor's window, streamed with a trip count that nobody knows, is base pages.
// RUN: %core2remarks %s 2>&1 | FileCheck %s
// CHECK-NOT: superpages
// CHECK: base pages: malloc of 65536 bytes in 'f'
// CHECK-NOT: superpages
#include <stdio.h>
#include <stdlib.h>
unsigned f(FILE *from) {
  unsigned char *window = malloc(65536);
  unsigned crc = 0, at = 0;
  int c;
  while ((c = getc(from)) != EOF) {
    window[at & 65535] = (unsigned char)c;
    if (window[(at - 258) & 65535] == c)
      crc = crc << 1 ^ window[at & 65535];
    at++;
  }
  free(window);
  return crc;
}
