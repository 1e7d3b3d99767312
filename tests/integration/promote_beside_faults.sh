#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program that takes page faults all the time in memory of its own, while an object that it has hardly touched waits to be
# filled: the helper thread still promotes another object, which the program reads at random without a call of the allocator.
. "$(dirname "$0")/lib.sh"
need_thp
. "$SMALLOC_SOURCE/tests/integration/build.bash"
cat >t.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
enum { kObject = 64 << 20, kMapped = 8 << 20, kPage = 4096 };
static long superpages_kib(void) {
  char line[256];
  long kib = 0;
  FILE *f = fopen("/proc/self/smaps_rollup", "r");
  while (fgets(line, sizeof line, f))
    if (!strncmp(line, "AnonHugePages:", 14))
      kib = atol(line + 14);
  fclose(f);
  return kib;
}
int main(void) {
  char *rests = malloc(kObject), *read = malloc(kObject);
  rests[5] = 1;
  for (long first = 0; first < 64; first++) /* in an order in which no superpage can be given ahead */
    for (long i = first; i < kObject / kPage; i += 64)
      read[i * kPage] = 1;
  char *mapped = mmap(NULL, kMapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct timespec now;
  unsigned long x = 1;
  do {
    for (long i = 0; i < kMapped; i += kPage)
      mapped[i] = 1;
    madvise(mapped, kMapped, MADV_DONTNEED);
    for (int k = 0; k < 200000; k++) {
      x = x * 6364136223846793005ul + 1;
      x += (unsigned char)read[(x >> 20) % kObject];
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  } while (superpages_kib() < 6 << 10 && now.tv_sec < 60);
  printf("%ld\n", superpages_kib() >> 10);
  return x == 0;
}
C
"$CLANG" -O1 -fno-builtin t.c -o t
expect_status 0 env LD_PRELOAD="$LIB" ./t
mib=$(cat out)
[ "$mib" -ge 6 ] || fail "$mib MiB were promoted in a minute of the program's time"
