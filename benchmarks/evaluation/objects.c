// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// objects: how the cost of malloc and free grows with the number of live objects. It allocates that
// many objects of 16 to 128 bytes, frees them in the order of their allocation, and repeats this
// until the number of pairs is reached, so every size of the heap has the same number of calls.
//   objects [live objects] [pairs of malloc and free]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  size_t live = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
  size_t pairs = argc > 2 ? strtoull(argv[2], NULL, 10) : 5000000;
  uint64_t **object = malloc(live * sizeof *object), sum = 0;
  if (!object || !live) {
    perror("objects");
    return 1;
  }
  for (size_t done = 0; done < pairs; done += live) {
    uint32_t random = 88675123u;
    for (size_t i = 0; i < live; i++) {
      random = random * 1664525u + 1013904223u;
      object[i] = malloc(16 + 16 * (random >> 29));
      if (!object[i]) {
        perror("objects");
        return 1;
      }
      *object[i] = random;
    }
    for (size_t i = 0; i < live; i++) {
      sum += *object[i];
      free(object[i]);
    }
  }
  printf("objects live=%zu sum=%llu\n", live, (unsigned long long)sum);
  free(object);
  return 0;
}
