#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# An array that realloc enlarges again and again begins in the program's malloc. Once it is large,
# realloc moves it to libsmalloc's heap: its new part has few page faults. A sparse array stays
# where it is, since a copy would make all of it resident. The contents and errno are kept.
. "$(dirname "$0")/../support/lib.sh"
need_thp
command -v "$CLANG" >/dev/null || skip "no $CLANG"
cat >grow.c <<'C'
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
struct edge { int from, to; };
int main(int argc, char **argv) {
  const char *how = argv[1];
  struct rusage usage;
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
  getrusage(RUSAGE_SELF, &usage);
  fprintf(stderr, "%ld %ld\n", usage.ru_minflt, usage.ru_maxrss >> 10);
  return argc != 2;
}
C
"$CLANG" -O2 grow.c -o plain || fail "does not compile"
"$CLANG" -O2 -fplugin="$PLUGIN" grow.c -o sites || fail "does not compile with the plugin"
for how in dense exact sparse; do
  ./plain $how >want 2>err || fail "$how: status $?"
  read -r plain_faults plain_mib <err
  for program in plain sites; do
    # populate:always: the counts do not depend on what first touches cost this system.
    for conf in populate:always heap:auto heap:off heap:guest heap:superpage; do
      SMALLOC_CONF=$conf LD_PRELOAD=$LIB ./$program $how >got 2>err || fail "$how, $program, $conf: status $?"
      cmp want got || fail "$how, $program, $conf: another output"
      read -r faults mib <err
      [ $conf = populate:always ] || continue
      echo "$how, $program: $faults page faults, $mib MiB; glibc $plain_faults, $plain_mib MiB"
      [ "$mib" -le $((plain_mib + plain_mib / 50 + 6)) ] || fail "$how, $program: $mib MiB"
      [ $how = sparse ] || [ "$faults" -le $((plain_faults / 2)) ] ||
        fail "$how, $program: $faults page faults, glibc $plain_faults"
    done
  done
done
