#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Code that gets free() from the C library's own handle (ctypes, dlsym) bypasses every replaced
# malloc. docs/compatibility.md describes the result. An object of libsmalloc ends the program
# there. An object of the C library's malloc that is freed by libsmalloc does not. The settings
# named there let such programs run.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
ulimit -c 0
build t -fno-builtin -ldl <<'E'
#include "runtime_sites.h"
#include <dlfcn.h>
int main(int argc, char **argv) {
  void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  if (!libc) return 77;
  void *(*their_malloc)(size_t) = (void *(*)(size_t))dlsym(libc, "malloc");
  void (*their_free)(void *) = (void (*)(void *))dlsym(libc, "free");
  char *ours_to_free = (char *)their_malloc(1000);
  ours_to_free = (char *)realloc(ours_to_free, 200000);
  memset(ours_to_free, 1, 200000), free(ours_to_free);
  char *p = strdup("of the process' malloc");
  printf("%s\n", ours(p) ? "ours" : "theirs");
  fflush(stdout);
  if (argc > 1) their_free(p);
  else free(p);
  puts("went on");
  return 0;
}
E
status=0
./t || status=$?
[ $status = 77 ] && skip "the C library is no libc.so.6"
grep -q 'dlsym' "$SMALLOC_SOURCE/docs/compatibility.md" || fail "the limit is not documented"
for conf in heap:auto heap:superpage heap:guest heap:off; do # the opposite direction always works
  SMALLOC_CONF=$conf ours expect_status 0 ./t
  expect_match out '^went on$'
done
SMALLOC_CONF=heap:superpage ours expect_status 134 ./t theirs
expect_match out '^ours$'
expect_match err 'invalid pointer'
for conf in heap:guest heap:off; do
  SMALLOC_CONF=$conf ours expect_status 0 ./t theirs
  expect_match out '^theirs$'
done
