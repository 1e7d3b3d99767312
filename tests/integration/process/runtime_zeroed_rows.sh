#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Rows filled with zeros: superpages of zeros look like superpages that were never filled. At a site
# whose objects are proved to be written, they need no examination. A program without sites keeps
# one unit in eight on base pages, to see that it is filled. The statistics name the superpages.
# Rows without a proof that stay empty take no superpage, also with some proved ones among them.
# Where all rows are requested before the first is filled, the helper thread follows the zeros, too.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/peaks.bash"
need_thp
build_peaks <<'C'
#include "peaks.h"
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) static char *make(size_t bytes, int value) {
  char *row = malloc(bytes);
  if (!row) abort();
  memset(row, value, bytes);
  return row;
}
__attribute__((noinline)) static char *make_unused(size_t bytes) {
  char *row = malloc(bytes);
  if (!row) abort();
  row[0] = 1;
  return row;
}
/* Slowly: the helper thread has to keep up on a busy machine. */
__attribute__((noinline)) static void zero(double *row, size_t count, double *by) {
  for (size_t i = 0; i < count; i++) {
    for (int k = 0; k < 8; k++) *by = 3.7 * *by * (1 - *by);
    row[i] = *by > 1;
  }
}
int main(int argc, char **argv) {
  const size_t bytes = strtoul(argv[2], NULL, 10), count = (200ul << 20) / bytes;
  char **row = malloc(count * sizeof *row);
  double by = 0.5;
  if (argv[1][0] == 'l') {
    for (size_t i = 0; i < count; i++)
      if (!(row[i] = malloc(bytes))) abort();
    for (size_t i = 0; i < count; i++) zero((double *)row[i], bytes / sizeof(double), &by);
  }
  for (size_t i = 0; i < count && argv[1][0] != 'l'; i++)
    row[i] = argv[1][0] == 'z' || i % 16 == 0 ? make(bytes, argc - 3) : make_unused(bytes);
  unsigned long sum = 0;
  for (size_t i = 0; i < count; i++) sum = sum * 3 + (unsigned char)row[i][0];
  for (size_t i = 0; i < count; i++) free(row[i]);
  printf("%lu\n", sum);
  print_peaks();
}
C
for bytes in 20000 28004; do
  glibc_peaks z $bytes
  our_peaks plain '' z $bytes
  plain=$faults
  our_peaks sites '' z $bytes
  [ $((2 * faults)) -le "$plain" ] || fail "$bytes: the proof saves too few page faults: $faults of $plain"
  [ "$mib" -le $((glibc_mib * 102 / 100 + 6)) ] || fail "$bytes: $mib MiB, glibc $glibc_mib"
  glibc_peaks u $bytes
  our_peaks sites '' u $bytes
  [ "$mib" -le $((glibc_mib * 102 / 100 + 10)) ] || fail "$bytes, mostly unused: $mib MiB, glibc $glibc_mib"
done
glibc_peaks l 40000
our_peaks plain '' l 40000
[ $((10 * faults)) -le $((8 * glibc_faults)) ] || fail "requested before: $faults page faults, glibc $glibc_faults"
[ "$mib" -le $((glibc_mib * 102 / 100 + 6)) ] || fail "requested before: $mib MiB, glibc $glibc_mib"
# Counting for the statistics does not change where objects lie.
for program in plain sites; do
  SMALLOC_CONF=stats:exit LD_PRELOAD=$LIB ./$program z 20000 >out 2>err
  expect_match err "malloc's heap: *[0-9][0-9] superpages filled"
done
