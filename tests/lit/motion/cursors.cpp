// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: pointers that move on now and then, as both inputs of a merge do, and records of varying length
// one behind the other are streams, not places picked at random or a structure walked through its pointers.
// RUN: %remarksxx -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// RUN: %clangxx -fplugin-arg-smalloc-first-touch=off -O2 -S -emit-llvm -o - %s | FileCheck --check-prefix=POINT %s
// POINT-NOT: __smalloc_v1_touch
// CHECK-DAG: malloc of n*4 bytes in 'merge(unsigned int*, unsigned int*, long)': streamed
// CHECK-DAG: malloc of n*16 bytes in 'records(unsigned char*, unsigned long)': streamed
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
void use(const void *);
void merge(unsigned *a, unsigned *b, long n) {
  for (int round = 0; round < 10; round++) {
    unsigned *to = (unsigned *)malloc(n * sizeof *to), *out = to;
    unsigned *left = a, *right = b, *end_a = a + n / 2, *end_b = b + n / 2;
    while (left != end_a && right != end_b)
      *out++ = *right < *left ? *right++ : *left++;
    use(to);
  }
}
struct Record {
  uint32_t bytes, kind;
};
long records(unsigned char *from, size_t n) {
  unsigned char *all = (unsigned char *)malloc(n * 16);
  memcpy(all, from, n * 16);
  long sum = 0;
  for (int round = 0; round < 10; round++)
    for (unsigned char *at = all; at < all + n * 16;) {
      auto *r = (const Record *)at;
      if (r->kind == 0) {
        at += 8;
        continue;
      }
      sum += r->kind;
      at += r->bytes;
    }
  return sum;
}
