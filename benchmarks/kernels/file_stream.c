// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// file_stream: a file read through one buffer, from beginning to end. Negative control: the kernel
// copies, the buffer is small, and no byte is used again before all others were.
//   file_stream [megabytes of the file] [passes]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kBlock = 1 << 20 };

int main(int argc, char **argv) {
  size_t megabytes = argc > 1 ? strtoull(argv[1], NULL, 10) : 256;
  size_t passes = argc > 2 ? strtoull(argv[2], NULL, 10) : 8;
  FILE *file = tmpfile();
  uint32_t *block = malloc(kBlock);
  if (!file || !block) {
    perror("file_stream");
    return 1;
  }
  uint32_t x = 2463534242u;
  for (size_t m = 0; m < megabytes; m++) {
    for (size_t i = 0; i < kBlock / sizeof *block; i++) {
      x ^= x << 13;
      x ^= x >> 17;
      block[i] = x ^= x << 5;
    }
    if (fwrite(block, 1, kBlock, file) != kBlock) {
      perror("file_stream");
      return 1;
    }
  }
  uint64_t sum = 0;
  for (size_t p = 0; p < passes; p++) {
    rewind(file);
    while (fread(block, 1, kBlock, file) == kBlock)
      for (size_t i = 0; i < kBlock / sizeof *block; i++)
        sum += block[i] >> p;
  }
  printf("file_stream megabytes=%zu passes=%zu sum=%llu\n", megabytes, passes,
         (unsigned long long)sum);
  free(block);
  fclose(file);
  return 0;
}
