#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program gives parts of an object on superpages back itself (madvise). The kernel must not fill
# them again, so these units are advised against superpages. Units that are given back whole, and
# all others, keep their advice.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
need_thp
cat >t.c <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
enum { kUnit = 2 << 20, kPage = 4096, kUnits = 16 };
#define CHECK(c) do { if (!(c)) printf("line %d: %s\n", __LINE__, #c), exit(1); } while (0)
/* 'h': advised for superpages; 'n': against; '-': neither */
static char advice_at(const char *p) {
  FILE *f = fopen("/proc/self/smaps", "r");
  char line[512], found = '-';
  int inside = 0;
  while (fgets(line, sizeof line, f)) {
    unsigned long start, stop;
    if (sscanf(line, "%lx-%lx ", &start, &stop) == 2 && line[0] != 'V')
      inside = start <= (uintptr_t)p && (uintptr_t)p < stop;
    else if (inside && !strncmp(line, "VmFlags:", 8))
      found = strstr(line, " hg") ? 'h' : strstr(line, " nh") ? 'n' : '-';
  }
  fclose(f);
  return found;
}
int main(int argc, char **argv) {
  const int advice = atoi(argv[1]);
  char *raw = malloc((kUnits + 1L) * kUnit);
  memset(raw, 1, (kUnits + 1L) * kUnit);
  char *a = (char *)(((uintptr_t)raw + kUnit - 1) / kUnit * kUnit);
  for (int u = 0; u < kUnits; u++)
    if (advice_at(a + u * (long)kUnit) != 'h')
      return puts("no superpages at first touch"), 77;
  errno = 5;
  for (long p = 0; p < 4 * 512; p++) /* units 0 to 3: 7 of 8 pages */
    if (p % 8)
      CHECK(madvise(a + p * kPage, kPage, advice) == 0);
  CHECK(madvise(a + 4L * kUnit, 2 * kUnit, advice) == 0);          /* 4 and 5 whole */
  CHECK(madvise(a + 7L * kUnit - kPage, kPage + 8, advice) == 0);  /* the border of 6 and 7 */
  CHECK(madvise(a + 8L * kUnit, kPage, MADV_WILLNEED) == 0 || errno);
  CHECK(madvise(a + 9L * kUnit, kPage, MADV_COLD) == 0 || errno);
  CHECK(madvise(a + 1, kPage, advice) == -1 && errno == EINVAL);
  char seen[kUnits + 1] = "";
  for (int u = 0; u < kUnits; u++)
    seen[u] = advice_at(a + u * (long)kUnit + kUnit / 2);
  for (long p = 0; p < kUnits * 512L; p++) /* kept pages have their contents, others are usable */
    if (advice == MADV_DONTNEED)
      CHECK(a[p * kPage] == !(p < 6 * 512 && (p >= 4 * 512 || p % 8) ? 1 : p == 7 * 512 - 1 || p == 7 * 512));
  memset(a, 2, kUnits * (long)kUnit);
  for (int u = 0; u < kUnits; u++)
    CHECK(a[u * (long)kUnit] == 2);
  puts(seen);
  free(raw);
  char *again = malloc((kUnits + 1L) * kUnit); /* nothing of it remains for the next object */
  memset(again, 3, (kUnits + 1L) * kUnit);
  CHECK(advice_at((char *)(((uintptr_t)again + kUnit - 1) / kUnit * kUnit)) == 'h');
  free(again);
  return argc > 9;
}
C
"$CLANG" -O1 -fno-builtin -w t.c -o plain
for advice in 4 8; do # MADV_DONTNEED, MADV_FREE
  status=0
  SMALLOC_CONF=populate:always,heap:superpage,stats:exit LD_PRELOAD=$LIB ./plain $advice >out 2>err || status=$?
  [ $status != 77 ] || skip "$(cat out)"
  [ $status = 0 ] || { cat out err >&2; fail "advice $advice: status $status"; }
  expect_match out '^nnnnhhnnhhhhhhhh$'
  expect_match err 'demotions: +6$'
done
# Foreign memory, and a process without libsmalloc's heaps.
cat >other.c <<'C'
#define _GNU_SOURCE
#include <sys/mman.h>
int main(void) {
  char *p = mmap(0, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  p[5] = 1;
  return madvise(p, 4096, MADV_DONTNEED) != 0 || p[5] != 0 || madvise(0, 4096, MADV_DONTNEED) != -1;
}
C
"$CLANG" -O1 other.c -o other
LD_PRELOAD=$LIB expect_status 0 ./other
