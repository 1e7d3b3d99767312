#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# If the first touch of superpages costs more than that of base pages, memory starts on base pages,
# at a loss of one superpage. It is promoted before a loop that pays for it. With populate:always
# everything is on superpages. This simulates a hypervisor that has taken memory back.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
need_thp
unset SMALLOC_CONF
cat >t.c <<'C'
#include <stdio.h>
#include <stdlib.h>
static double *make(size_t n) {
  double *a = malloc(n * sizeof *a);
  for (size_t i = 0; i < n; i++)
    a[i] = (double)(i % 7);
  return a;
}
int main(void) {
  size_t rows = 1 << 13, columns = 1 << 10; // 64 MiB
  double *a = make(rows * columns), sum = 0;
  for (size_t c = 0; c < columns; c++)
    for (size_t r = 0; r < rows; r++)
      sum += a[r * columns + c];
  printf("%.0f\n", sum);
  free(a);
}
C
# A requested superpage takes 20 ms more. Base pages, which the library requests after advice
# against superpages, do not.
cat >dear.c <<'C'
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
int madvise(void *p, size_t bytes, int advice) {
  static int base;
  int status = (int)syscall(SYS_madvise, p, bytes, advice);
  if (advice == MADV_NOHUGEPAGE) base = 1;
  if (advice != MADV_POPULATE_WRITE) return status;
  if (!base) {
    clock_t end = clock() + CLOCKS_PER_SEC / 50;
    while (clock() < end)
      ;
  }
  base = 0;
  return status;
}
C
gcc -O1 -shared -fPIC dear.c -o dear.so
"$CLANG" -O2 -fplugin="$PLUGIN" t.c -o t
./t >plain
run() { # CONF
  SMALLOC_CONF=$1,stats:json,stats_file:stats LD_PRELOAD="$LIB:$PWD/dear.so" expect_status 0 ./t
  cmp -s plain out || fail "other output: $(cat out)"
  [ ! -s err ] || fail "$(cat err)"
  mv stats "stats.$1"
}
run promote:off
json_is stats.promote:off 'd["counters"]["not_on_thp_expensive"] == 1 and d["counters"]["superpages_at_first_touch"] == 1'
run promote:eager
json_is stats.promote:eager 'd["counters"]["not_on_thp_expensive"] == 1 and d["counters"]["promotions"] > 0'
run populate:always
json_is stats.populate:always 'd["counters"]["not_on_thp_expensive"] == 0 and d["counters"]["superpages_at_first_touch"] >= 31'
