#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Objects of several pages that the program leaves mostly empty: tables of which only a band is used,
# buffers, stacks. They take at most 2 % and 10 MiB (what two heaps give ahead) more memory than
# under glibc, also if the program fills other rows before, and fills the rows with zeros. Rows that
# it fills take no more either: no size class rounds them up.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/peaks.bash"
need_thp
bad=""
build_peaks <<'C'
#include "peaks.h"
#include <stdlib.h>
#include <string.h>
static char **make(size_t rows, size_t bytes, int zeroed) {
  char **row = malloc(rows * sizeof *row);
  for (size_t i = 0; i < rows; i++)
    if (!(row[i] = zeroed ? calloc(1, bytes) : malloc(bytes))) abort();
  return row;
}
static unsigned long drop(char **row, size_t rows, size_t bytes) {
  unsigned long sum = 0;
  for (size_t i = 0; i < rows; i++) {
    for (size_t at = i * 4 % 64; at < bytes; at += 64) sum = sum * 3 + (unsigned char)row[i][at];
    free(row[i]);
  }
  free(row);
  return sum;
}
int main(int argc, char **argv) {
  const char *how = argv[1];
  const size_t bytes = strtoul(argv[2], NULL, 10), rows = (240ul << 20) / bytes;
  unsigned long sum = 0;
  for (const char *k = how; *k; k++)
    if (*k == 'f' || *k == 'z') { /* a quarter of the rows, full of bytes or of zeros */
      char **row = make(rows / 4, bytes, 0);
      for (size_t i = 0; i < rows / 4; i++) memset(row[i], *k == 'f' ? (int)i | 1 : 0, bytes);
      sum += drop(row, rows / 4, bytes);
    } else if (*k == 'a' || *k == '0') { /* all rows, each filled at once */
      char **row = malloc(rows * sizeof *row);
      for (size_t i = 0; i < rows; i++)
        if (!(row[i] = malloc(bytes))) abort(); else memset(row[i], *k == 'a' ? (int)i | 1 : 0, bytes);
      sum += drop(row, rows, bytes);
    } else { /* a band of each row */
      char **row = make(rows, bytes, *k == 'c');
      for (size_t i = 0; i < rows; i++) memset(row[i] + i * 100 % (bytes - 900), (int)i | 1, 900);
      for (size_t i = 0; i < rows; i++) sum = sum * 7 + (unsigned char)row[i][i * 100 % (bytes - 900)], free(row[i]);
      free(row);
    }
  printf("%lu\n", sum);
  print_peaks();
  return argc != 3;
}
C
for bytes in 20000 28004 44004 65536 400000 1040004; do
  for how in b c fb fc zb a 0; do
    glibc_peaks $how $bytes
    for program in plain sites; do
      kept=0
      if [[ $how == ?b ]]; then # the rows freed just before are kept, and used again for sparse ones
        kept=60
        our_peaks $program heap:auto,cache:0 $how $bytes
        [ "$mib" -le $((glibc_mib + glibc_mib / 50 + 10)) ] || bad="$bad, $program cache:0 $how $bytes: $mib MiB"
      fi
      our_peaks $program heap:auto $how $bytes
      [ "$mib" -le $((glibc_mib + glibc_mib / 50 + 10 + kept)) ] || bad="$bad, $program $how $bytes: $mib MiB"
      # Above 32 KiB no first touch is timed, so these counts depend on nothing else. Zeros need probes.
      [ $bytes -lt 40000 ] || [[ $how != [a0] ]] || [ "$faults" -le $((glibc_faults / 3)) ] ||
        bad="$bad, $program $how $bytes: $faults page faults"
    done
  done
done
[ -z "$bad" ] || fail "too much${bad#,}"
