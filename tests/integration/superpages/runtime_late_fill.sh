#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Rows that are all requested before the program fills the first lie on base pages at first: they
# may stay empty. The helper thread follows the fill and gives superpages ahead of it. Without the
# thread (promote:calls) there are none. If the program frees all rows and requests as many again,
# they need no thread. They lie in malloc's heap (40,000 bytes) or in size classes (3,500). Arrays of
# 7.6 MB get superpages ahead of the fill, too.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/peaks.bash"
need_thp
build_peaks <<'C'
#include "peaks.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>
int main(int argc, char **argv) {
  enum { kMostRows = 30000, kMostBytes = 40000 };
  static char *row[kMostRows];
  const size_t bytes = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
  const int slowly = argc == 3, times = argc > 3 ? atoi(argv[3]) : 1;
  const struct timespec pause = {0, 4000000}; /* the thread has time to look, also on a busy machine */
  unsigned long sum = 0;
  const int kRows = bytes < 4000 ? kMostRows : 3000;
  if (bytes == 0 || bytes > kMostBytes) return 2;
  for (int time = 0; time < times; time++) {
    for (int i = 0; i < kRows; i++)
      if (!(row[i] = malloc(bytes))) return 1;
    for (int i = 0; i < kRows; i++) {
      memset(row[i], (i + time) | 1, bytes);
      if (slowly && i % (kRows / 250) == 0) nanosleep(&pause, NULL);
    }
    for (int i = 0; i < kRows; i++) sum = sum * 3 + (unsigned char)row[i][i * 7 % bytes];
    for (int i = 0; i < kRows; i++) free(row[i]);
  }
  printf("%lu\n", sum);
  print_peaks();
  return 0;
}
C
for bytes in 40000 3500; do
  glibc_peaks slowly $bytes
  # Size classes round 3,500 bytes up.
  most_mib=$((glibc_mib + glibc_mib / (bytes == 40000 ? 50 : 9) + 6))
  for program in plain sites; do
    for try in 1 2 3; do # the thread may get no processor
      our_peaks $program heap:auto slowly $bytes
      [ "$mib" -le $most_mib ] || fail "$program: $mib MiB"
      [ "$faults" -gt $((glibc_faults * 2 / 3)) ] || break
      [ $try != 3 ] || fail "$program: $faults page faults"
    done
    [ $bytes.$program != 3500.sites ] || continue # the plugin's sites of varying sizes use another heap
    our_peaks $program promote:calls slowly $bytes
    [ "$faults" -ge $((glibc_faults * 3 / 4)) ] || fail "$program, promote:calls: $faults page faults, so what was tested?"
  done
done
# The first time the rows are on base pages, then on superpages.
glibc_peaks again 3500 4
our_peaks plain promote:calls again 3500 4
[ "$mib" -le $((glibc_mib + glibc_mib / 9 + 6)) ] || fail "$mib MiB"
[ "$faults" -le $((glibc_faults / 2)) ] || fail "$faults page faults"
# That the program filled them the first time is seen by the thread only.
glibc_peaks again 40000 4
for try in 1 2 3; do
  our_peaks plain heap:auto again 40000 4
  [ "$mib" -le $((glibc_mib + glibc_mib / 50 + 6)) ] || fail "$mib MiB"
  [ "$faults" -gt $((glibc_faults / 2)) ] || break
  [ $try != 3 ] || fail "$faults page faults"
done

build_peaks <<'C'
#include "peaks.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>
int main(void) {
  enum { kArrays = 8, kBytes = 7600000, kPieces = 8 };
  static char *array[kArrays];
  const struct timespec pause = {0, 10000000}; /* the thread has time to look, also on a busy machine */
  unsigned long sum = 0;
  for (int i = 0; i < kArrays; i++)
    if (!(array[i] = malloc(kBytes))) return 1;
  for (int i = 0; i < kArrays; i++) {
    for (int piece = 0; piece < kPieces; piece++) { /* no call announces as much as a superpage */
      memset(array[i] + (long)piece * (kBytes / kPieces), i + 1, kBytes / kPieces);
      nanosleep(&pause, NULL);
    }
  }
  for (int i = 0; i < kArrays; i++) sum = sum * 3 + (unsigned char)array[i][i * 7];
  printf("%lu\n", sum);
  print_peaks();
  return 0;
}
C
glibc_peaks
for try in 1 2 3; do
  our_peaks plain heap:auto
  [ "$mib" -le $((glibc_mib + glibc_mib / 50 + 6)) ] || fail "arrays: $mib MiB"
  [ "$faults" -gt $((glibc_faults * 3 / 4)) ] || break
  [ $try != 3 ] || fail "arrays: $faults page faults of $glibc_faults"
done
our_peaks plain promote:calls
[ "$faults" -ge $((glibc_faults * 9 / 10)) ] || fail "arrays, promote:calls: $faults page faults, so what was tested?"
