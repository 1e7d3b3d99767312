#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Large rows by malloc come from the program's malloc, rows by calloc from libsmalloc's heap. A
# program that fills and frees the one, then the other, in turns, does not keep the memory of both.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/peaks.bash"
need_thp
build_peaks <<'C'
#include "peaks.h"
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv) {
  enum { kRows = 1000 };
  static unsigned char *row[kRows];
  unsigned long x = 1, sum = 0;
  for (int phase = 0; phase < 8; phase++) {
    for (int i = 0; i < kRows; i++) {
      const size_t bytes = 40000 + (x = x * 6364136223846793005u + 1) % 120000;
      /* in turns, and mixed */
      if (!(row[i] = (phase % 4 == 1 || (phase % 4 > 1 && x >> 40 & 1)) ? calloc(1, bytes) : malloc(bytes))) return 1;
      memset(row[i], i | 1, bytes);
    }
    for (int i = 0; i < kRows; i++) {
      const int at = i * 7 % kRows;
      sum = sum * 3 + row[at][100], free(row[at]);
    }
  }
  printf("%lu\n", sum);
  print_peaks();
  return argc != 2 || !argv[1];
}
C
glibc_peaks turns
for program in plain sites; do
  our_peaks $program heap:auto turns
  [ "$mib" -le $((glibc_mib * 4 / 3)) ] || fail "$program: $mib MiB"
done
