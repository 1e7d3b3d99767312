#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# libsmalloc writes nothing into a file of the program that has the descriptor number of standard
# error. The program may have closed standard error, moved another file there, or started without
# it.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
build t -fno-builtin <<'E'
#include "runtime_sites.h"
#include <sys/stat.h>
TEST_SITE(hot, SMALLOC_DECISION_SUPERPAGE, 0, 0);
/* The database is opened before the heaps start. */
int main(int argc, char **argv) {
  int database = 2;
  (void)argc;
  if (!strcmp(argv[1], "close")) {
    for (int i = 0; i < 3; i++) close(i);
    CHECK(open("/dev/null", O_RDWR) == 0 && open("/dev/null", O_RDWR) == 1);
    CHECK(open("database", O_RDWR | O_CREAT | O_TRUNC, 0644) == 2);
  } else if (!strcmp(argv[1], "move")) {
    CHECK(dup2(open("database", O_RDWR | O_CREAT | O_TRUNC, 0644), 2) == 2);
  } else if (!strcmp(argv[1], "without")) {
    CHECK(open("database", O_RDWR | O_CREAT | O_TRUNC, 0644) == 2);
  }
  for (int i = 0; i < 10; i++) {
    char *p = (char *)site_malloc(&hot, 24 * MIB);
    memset(p, 1, 24 * MIB);
    if (!strcmp(argv[2], "twice") && i == 9 && ours(p)) free(p); /* reported, and ends the program if it aborts */
    free(p);
  }
  struct stat now;
  CHECK(fstat(database, &now) == 0);
  return now.st_size != 0;
}
E
warns() { # SETTINGS [twice]: a warning is printed if there is a standard error, and nowhere otherwise
  local how
  SMALLOC_CONF=$1 ours ./t keep "${2-}" 2>said >/dev/null || true
  [ -s said ] || fail "nothing is said with $1"
  for how in close move without; do
    : >database
    if [ $how = without ]; then
      { SMALLOC_CONF=$1 ours ./t $how "${2-}" || true; } 0</dev/null >/dev/null 2>&-
    else
      { SMALLOC_CONF=$1 ours ./t $how "${2-}" || true; } >/dev/null 2>&1
    fi
    [ ! -s database ] || { cat database >&2; fail "in the program's file ($how, $1)"; }
  done
}
warns pages:1g,heap:superpage
warns debug:on,abort:true twice
warns debug:on
warns numa:migrate,numa_source:none
(
  ulimit -v 60000
  warns heap:superpage
)
