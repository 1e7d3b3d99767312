#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Rows that are all requested before the program fills the first lie on base pages at first: they
# may stay empty. The helper thread follows the fill and gives superpages ahead of it. Without the
# thread (promoter:calls) there are none.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/peaks.bash"
need_thp
build_peaks <<'C'
#include "peaks.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>
int main(int argc, char **argv) {
  enum { kRows = 3000, kBytes = 40000 };
  static char *row[kRows];
  const struct timespec pause = {0, 4000000}; /* the thread has time to look, also on a busy machine */
  unsigned long sum = 0;
  for (int i = 0; i < kRows; i++)
    if (!(row[i] = malloc(kBytes))) return 1;
  for (int i = 0; i < kRows; i++) {
    memset(row[i], i | 1, kBytes);
    if (i % 12 == 0) nanosleep(&pause, NULL);
  }
  for (int i = 0; i < kRows; i++) sum = sum * 3 + (unsigned char)row[i][i * 7 % kBytes];
  printf("%lu\n", sum);
  print_peaks();
  return argc != 2 || !argv[1];
}
C
glibc_peaks slowly
for program in plain sites; do
  for try in 1 2 3; do # the thread may get no processor
    our_peaks $program heap:auto slowly
    [ "$mib" -le $((glibc_mib + glibc_mib / 50 + 6)) ] || fail "$program: $mib MiB"
    [ "$faults" -gt $((glibc_faults * 2 / 3)) ] || break
    [ $try != 3 ] || fail "$program: $faults page faults"
  done
  our_peaks $program promoter:calls slowly
  [ "$faults" -ge $((glibc_faults * 3 / 4)) ] || fail "$program, promoter:calls: $faults page faults, so what was tested?"
done
