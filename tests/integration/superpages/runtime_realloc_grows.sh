#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# An array that realloc enlarges again and again begins in the program's malloc. Once it is large,
# realloc moves it to libsmalloc's heap: its new part has few page faults. A sparse array stays
# where it is, since a copy would make all of it resident. The contents and errno are kept.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/peaks.bash"
need_thp
build_peaks <<'C'
#include "peaks.h"
#include <errno.h>
#include <stdlib.h>
struct edge { int from, to; };
int main(int argc, char **argv) {
  const char *how = argv[1];
  unsigned long sum = 0, x = 1, n = 0, had = 0;
  if (*how == 's') { /* sparse */
    char *p = malloc(7 << 20);
    p[0] = 1, p[5 << 20] = 2;
    if (!(p = realloc(p, 300ul << 20))) return 1;
    sum = (unsigned long)p[0] + (unsigned long)p[5 << 20] * 10;
    free(p);
  } else {
    struct edge *e = NULL;
    errno = 7;
    for (unsigned long i = 0; i < 7000000; i++) {
      if (n == had && !(e = realloc(e, (had = had ? had + had / 2 : 1000) * sizeof *e))) return 1;
      x = x * 6364136223846793005u + 1;
      e[n++] = (struct edge){(int)(x >> 33), (int)i};
    }
    if (errno != 7) return 2;
    if (*how == 'e') { /* and one of the whole, less the rest */
      if (!(e = realloc(e, n * sizeof *e))) return 1;
    }
    for (unsigned long i = 0; i < n; i++) sum = sum * 31 + (unsigned)e[i].from + (unsigned)e[i].to;
    free(e);
  }
  printf("%lu\n", sum);
  print_peaks();
  return argc != 2;
}
C
for how in dense exact sparse; do
  glibc_peaks $how
  for program in plain sites; do
    for conf in heap:auto heap:off heap:guest heap:superpage; do our_peaks $program $conf $how; done
    # The counts must not depend on what first touches cost this system.
    our_peaks $program populate:always $how
    [ "$mib" -le $((glibc_mib + glibc_mib / 50 + 6)) ] || fail "$how, $program: $mib MiB"
    [ $how = sparse ] || [ "$faults" -le $((glibc_faults / 2)) ] || fail "$how, $program: $faults page faults"
  done
done
