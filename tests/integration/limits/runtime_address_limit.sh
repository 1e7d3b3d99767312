#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Under ulimit -v and ulimit -d the heaps shrink or do not start. The program gets as much memory as
# without libsmalloc, and does not crash.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
build t <<'E'
#include "runtime_sites.h"
TEST_SITE(site, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
TEST_SITE(small, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
int main(void) {
  static void *keep[2000];
  int n = 0, mine = 0;
  warm_up(&small);
  for (; n < 2000; n++) { /* until memory is exhausted */
    keep[n] = site_malloc(&site, 8 * MIB);
    if (!keep[n]) break;
    mine += ours(keep[n]);
    memset(keep[n], 1, 4096);
  }
  CHECK(n == 2000 || errno == ENOMEM);
  for (int i = 0; i < n; i++) free(keep[i]);
  free(site_malloc(&small, 1000));
  printf("%d objects, ours %d\n", n, mine);
  return 0;
}
E
for limit in "-v 4000000" "-v 300000" "-d 2000000" "-d 300000" "-d 100000"; do
  (ulimit $limit; ./t) >plain || fail "the program fails without us, too"
  (ulimit $limit; LD_PRELOAD=$LIB ./t) >with 2>err || { cat with err; fail "ulimit $limit: status $?"; }
  a=$(cut -d' ' -f1 plain) b=$(cut -d' ' -f1 with)
  [ "$b" -ge $((a * 3 / 4)) ] || fail "ulimit $limit: $b objects instead of $a"
done

# Under ulimit -d all writable memory counts, touched or not. Memory that libsmalloc keeps ready may
# cost the program 1 MiB at most. Requests that succeed without libsmalloc succeed with it.
cat >fill.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* fill BYTES [KIB]: takes and writes pieces until memory is exhausted, or up to KIB KiB. */
int main(int argc, char **argv) {
  size_t piece = strtoul(argv[1], 0, 0), most = argc > 2 ? strtoul(argv[2], 0, 0) : (size_t)-1 >> 10, got = 0;
  char *last = 0;
  while (got >> 10 < most) {
    char *p = malloc(piece);
    if (!p)
      break;
    memset(p, 1, piece);
    memcpy(p, &last, sizeof last);
    last = p;
    got += piece;
  }
  unsigned long sum = 0;
  for (char *p = last, *next; p; p = next) {
    memcpy(&next, p, sizeof next);
    sum += p[piece - 1];
    free(p);
  }
  printf("%zu KiB, %lu pieces\n", got >> 10, sum);
  return got >> 10 < most && argc > 2;
}
C
"$CLANG" -O2 fill.c -o fill
got() { # LIMIT LIBRARY CONF ARGUMENTS: prints the KiB
  (ulimit -d "$1" && LD_PRELOAD=$2 SMALLOC_CONF=$3 ./fill "${@:4}") >out 2>err || { cat out err; fail "ulimit -d $1, $2, $3: status $?"; }
  cut -d' ' -f1 out
}
for limit in 4096 16384 65536 200000; do
  for piece in 500 100000 3000000; do
    plain=$(got "$limit" "" "" "$piece")
    # Needs a tenth less than the whole, except the MiB.
    some=$((plain * 9 / 10 - 1024))
    for library in "$LIB" "$PRELOAD"; do
      for conf in heap:auto heap:guest heap:superpage; do
        with=$(got "$limit" "$library" "$conf" "$piece")
        [ "$with" -ge $((plain - 1024 - piece / 1024)) ] ||
          fail "ulimit -d $limit, $library, $conf: $with KiB in pieces of $piece, $plain without"
        [ "$some" -gt 0 ] || continue
        got "$limit" "" "" "$piece" "$some" >/dev/null
        cp out expected
        got "$limit" "$library" "$conf" "$piece" "$some" >/dev/null
        cmp out expected || fail "ulimit -d $limit, $library, $conf: another output"
      done
    done
  done
done
