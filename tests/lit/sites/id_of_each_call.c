// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: two calls of the same function in one function have different ids.
// RUN: rm -rf %t && %clang -O2 -c -o /dev/null -fplugin-arg-smalloc-sites=%t %s
// RUN: cat %t/*.json | grep '"id"' | sort -u | count 2
#include <stdlib.h>
void *f(size_t n, void **out) {
  *out = malloc(n);
  return malloc(n);
}
