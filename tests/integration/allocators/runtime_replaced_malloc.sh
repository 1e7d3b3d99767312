#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program with its own malloc, visible or hidden, keeps it: it gets no pointer of libsmalloc, does
# not crash, and prints one warning.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
cat >own.h <<'E'
#include <stddef.h>
static char arena[64 << 20];
static size_t used;
OWN void *malloc(size_t n) { n = (n + 31) & ~(size_t)15; char *p = arena + used; used += n; *(size_t *)p = n - 16; return used < sizeof arena ? p + 16 : 0; }
OWN void free(void *p) { if (p && ((char *)p < arena || (char *)p > arena + sizeof arena)) __builtin_trap(); }
OWN void *realloc(void *p, size_t n) { char *q = malloc(n); if (p) for (size_t i = 0; i < n && i < ((size_t *)p)[-2]; i++) q[i] = ((char *)p)[i]; return q; }
OWN void *calloc(size_t a, size_t b) { return malloc(a * b); }
E
for visibility in default hidden; do
  { echo "#define OWN __attribute__((visibility(\"$visibility\")))"; cat own.h - <<'E'; } | build t -fno-builtin
#include "runtime_sites.h"
TEST_SITE(site, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
int main(void) {
  void *p = site_malloc(&site, 8 * MIB), *q = site_malloc(&site, 9 * MIB);
  CHECK(!ours(p) && !ours(q) && (char *)p > arena && (char *)p < arena + sizeof arena);
  free(p), free(q);
  return printf("%s\n", "done") < 0;
}
E
  expect_status 0 ours ./t
  expect_match out '^done$'
  [ "$(grep -c 'smalloc: warning: ' err)" = 1 ] || { cat err; fail "$visibility: not exactly one warning"; }
done
