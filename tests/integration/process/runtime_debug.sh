#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# debug:on and abort:true report wrong frees of libsmalloc's pointers with the address and the site
# of the object. debug:on continues, abort:true stops. A correct program behaves the same.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
need_thp
ulimit -c 0
build t -w $(linked) <<'E'
#include "runtime_sites.h"
TEST_SITE(make_node, SMALLOC_DECISION_SUPERPAGE, SMALLOC_SITE_SMALL, 0);
TEST_SITE(make_table, SMALLOC_DECISION_SUPERPAGE, SMALLOC_SITE_FULLY_INITIALISED, 0);
int main(int argc, char **argv) {
  warm_up(&make_node);
  warm_up(&make_node);
  void *volatile node = site_malloc(&make_node, 100), *volatile base = smalloc(300, SMALLOC_BASE);
  char *volatile table = (char *)site_malloc(&make_table, 8 * MIB);
  char *volatile odd = (char *)site_malloc(&make_table, 8 * MIB + 100);
  CHECK(ours(node) && ours(base) && ours(table) && ours(odd));
  switch (argv[1][0]) {
  case '1': free(node); free(node); break;
  case '2': free((char *)node + 8); break;
  case '3': free(table); free(table); break;
  case '4': free(table + 4096); break;
  case '5': free(base); free(base); break;
  case '6': free(node); CHECK(realloc(node, 50) == NULL); break;
  case '9': CHECK(realloc(table + 4096, 9 * MIB) == NULL); break;
  case 'b': free(odd + malloc_usable_size(odd) + 8); break;
  case 'a': free(table); CHECK(realloc(table, 9 * MIB) == NULL); break;
  case '7': free(node); if (_ZdlPv) _ZdlPv(node); else free(node); break;
  case '8': { /* a correct program: resizes in and between heaps, both directions */
    for (int i = 0; i < 20000; i++) {
      char *p = site_malloc(&make_node, 1 + i % 3000);
      memset(p, i, 1 + i % 3000);
      p = realloc(p, 1 + i % 5000);
      if (i % 500 == 0) p = realloc(p, 3 * MIB);
      if (i % 1000 == 0) p = realloc(p, 5 * MIB);
      if (i % 1000 == 0) p = realloc(p, 100);
      CHECK(*p == (char)i);
      free(p);
    }
    base = realloc(base, 1000);
    free(base), free(node), free(table);
    free(NULL);
    break;
  }
  }
  puts("went on");
  return 0;
}
E
report() { # NUMBER PATTERN
  SMALLOC_CONF=debug:on expect_status 0 ./t "$1"
  expect_match out '^went on$'
  expect_match err "^smalloc: error: $2"
  expect_match err '^hint: SMALLOC_CONF=abort:true'
  [ "$(grep -c 'smalloc: error' err)" = 1 ] || fail "more than one report"
  expect_no_match err 'contradict'
  SMALLOC_CONF=abort:true expect_status 134 ./t "$1"
  expect_match err "^smalloc: error: $2"
  expect_no_match out 'went on'
}
A='\(0x[0-9a-f]{16}\)'
report 1 "double free $A: an object of 100 B allocated in make_node at test\.c:[0-9]+, freed before"
report 2 "free of a pointer to no object $A: it lies in smalloc's memory, where no object starts"
report 3 "double free $A: an object allocated in make_table at test\.c:[0-9]+, freed before"
report 4 "free of a pointer into an object $A: it is 4096 bytes after the start of an object of 8\.0 MiB allocated in make_table at test\.c:[0-9]+"
report 5 "double free $A: an object of 300 B allocated at an unknown site, freed before"
report 6 "double realloc $A: an object of 100 B allocated in make_node"
report 7 "double free $A: an object of 100 B allocated in make_node"
report 9 "realloc of a pointer into an object $A: it is 4096 bytes after the start of an object of 8\.0 MiB allocated in make_table"
report b "free of a pointer past an object $A: it is 8 bytes past the end of an object of 8\.0 MiB allocated in make_table"
report a "double realloc $A: an object allocated in make_table at test\.c:[0-9]+, freed before"
for conf in debug:on abort:true stats:exit stats:sites; do
  SMALLOC_CONF=$conf expect_status 0 ./t 8
  expect_match out '^went on$'
  expect_no_match err 'error|contradict'
done
# Without either key a wrong free of a big object ends the program, as with glibc; abort:false
# continues.
for wrong in 3 4 9 a b; do
  expect_status 134 ./t $wrong
  expect_match err '^smalloc: error: (double )?(free|realloc)'
  SMALLOC_CONF=abort:false expect_status 0 ./t $wrong
  expect_match err '^smalloc: error: (double )?(free|realloc)'
done
expect_status 0 ./t 8
[ ! -s err ] || fail "something is printed without debug:on"
# One line reports libsmalloc's presence, whether the heaps start or not.
# shellcheck disable=SC2046 # several words
build none $(linked) <<'C'
int main(void) { return 0; }
C
SMALLOC_CONF=debug:on expect_status 0 ./none
[ "$(wc -l <err)" = 1 ] || fail "not one line: $(cat err)"
expect_match err '^smalloc: debug: version [0-9.]+, strategy auto; the heaps start with the first object for them$'
SMALLOC_CONF=debug:on,heap:off expect_status 0 ./none
expect_match err '^smalloc: debug: version [0-9.]+, strategy off; the heaps never start$'
SMALLOC_CONF=debug:on expect_status 0 ./t 8
expect_match err '^smalloc: debug: heaps started, .* reserved, machine '
# A program may exit while its threads allocate. The tables may then disagree, and no error is
# reported.
build ends $(linked) <<'E'
#include "runtime_sites.h"
TEST_SITE(some, SMALLOC_DECISION_SUPERPAGE, SMALLOC_SITE_FULLY_INITIALISED, 0);
static void *work(void *unused) {
  for (;;) free(site_malloc(&some, 5 * MIB));
  return unused;
}
int main(void) {
  pthread_t t;
  for (int i = 0; i < 4; i++) pthread_create(&t, NULL, work, NULL);
  usleep(100000);
  exit(0);
}
E
for round in 1 2 3 4 5; do
  SMALLOC_CONF=debug:on,promote:off,cache:0 expect_status 0 ./ends
  expect_no_match err contradict
done
