#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Objects of several pages that the program leaves mostly empty: tables of which only a band is used,
# buffers, stacks. They take at most 2 % and 10 MiB (what two heaps give ahead) more memory than under glibc, also if the
# program fills other rows before, and fills the rows of zeros. Rows that it fills get superpages,
# and no size class rounds them up.
. "$(dirname "$0")/../support/lib.sh"
need_thp
command -v "$CLANG" >/dev/null || skip "no $CLANG"
cat >rows.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
static char **make(size_t rows, size_t bytes, int zeroed) {
  char **row = malloc(rows * sizeof *row);
  for (size_t i = 0; i < rows; i++)
    if (!(row[i] = zeroed ? calloc(1, bytes) : malloc(bytes))) abort();
  return row;
}
static unsigned long drop(char **row, size_t rows, size_t bytes, size_t step) {
  unsigned long sum = 0;
  for (size_t i = 0; i < rows; i++) {
    for (size_t at = i * 4 % step; at < bytes; at += step) sum = sum * 3 + (unsigned char)row[i][at];
    free(row[i]);
  }
  free(row);
  return sum;
}
int main(int argc, char **argv) {
  const char *how = argv[1];
  const size_t bytes = strtoul(argv[2], NULL, 10), rows = (240ul << 20) / bytes;
  unsigned long sum = 0;
  struct rusage usage;
  if (strchr(how, 'f')) { /* full rows before */
    char **row = make(rows / 4, bytes, 0);
    for (size_t i = 0; i < rows / 4; i++) memset(row[i], (int)i | 1, bytes);
    sum += drop(row, rows / 4, bytes, 64);
  }
  if (strchr(how, 'z')) { /* full of zeros */
    char **row = make(rows / 4, bytes, 0);
    for (size_t i = 0; i < rows / 4; i++) memset(row[i], 0, bytes);
    sum += drop(row, rows / 4, bytes, 64);
  }
  if (strchr(how, 'b')) { /* a band */
    char **row = make(rows, bytes, strchr(how, 'c') != NULL);
    for (size_t i = 0; i < rows; i++) memset(row[i] + i * 100 % (bytes - 900), (int)i | 1, 900);
    for (size_t i = 0; i < rows; i++) sum = sum * 7 + (unsigned char)row[i][i * 100 % (bytes - 900)], free(row[i]);
    free(row);
  }
  printf("%lu\n", sum);
  getrusage(RUSAGE_SELF, &usage);
  fprintf(stderr, "%ld %ld\n", usage.ru_minflt, usage.ru_maxrss >> 10);
  return argc != 3;
}
C
"$CLANG" -O2 rows.c -o plain || fail "does not compile"
"$CLANG" -O2 -fplugin="$PLUGIN" rows.c -o sites || fail "does not compile with the plugin"
for bytes in 20000 44004 65536 400000 1040004; do
  for how in b bc fb fbc zb f; do
    ./plain $how $bytes >want 2>err || fail "$how, $bytes bytes: status $?"
    read -r plain_faults plain_mib <err
    for program in plain sites; do
      SMALLOC_CONF='' LD_PRELOAD=$LIB ./$program $how $bytes >got 2>err || fail "$how, $bytes bytes, $program: status $?"
      cmp want got || fail "$how, $bytes bytes, $program: another output"
      read -r faults mib <err
      echo "$how, $bytes bytes, $program: $faults page faults, $mib MiB; glibc $plain_faults, $plain_mib MiB"
      [ "$mib" -le $((plain_mib + plain_mib / 50 + 10)) ] || bad=yes
    done
  done
done
[ -z "${bad:-}" ] || fail "too much memory"
