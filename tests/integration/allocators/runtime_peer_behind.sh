#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Another allocator preloaded behind libsmalloc serves every request that libsmalloc does not serve.
# Preloaded in front of libsmalloc, it switches libsmalloc off, without a crash.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
build t.cpp <<'E'
#include "runtime_sites.h"
#include <map>
#include <string>
TEST_SITE(site, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
TEST_SITE(small, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
int main() {
  std::map<int, std::string> m;
  for (int i = 0; i < 20000; i++) m[i] = std::string(i % 200, 'x');
  warm_up(&small);
  void *p = site_malloc(&site, 8 * MIB), *q = site_malloc(&small, 100);
  printf("%d %d\n", ours(p), ours(q));
  operator delete(p);
  operator delete(q);
  free(realloc(malloc(10), 3000000));
  for (int i = 0; i < 20000; i += 2) m.erase(i);
  puts("done");
}
E
tried=0
for peer in /usr/lib/*/libjemalloc.so.2 /usr/lib/*/libmimalloc.so.[23] /usr/lib/*/libtcmalloc_minimal.so.4; do
  [ -e "$peer" ] || continue
  tried=1
  LD_PRELOAD="$LIB $peer" expect_status 0 ./t
  expect_match out '^1 1$'
  expect_match out '^done$'
  LD_PRELOAD="$peer $LIB" expect_status 0 ./t
  expect_match out '^0 0$'
  expect_match out '^done$'
  [ "$(grep -c 'smalloc: warning: ' err)" = 1 ] || { cat err; fail "not exactly one warning behind $peer"; }
  LD_PRELOAD="$PRELOAD $peer" SMALLOC_CONF=heap:superpage expect_status 0 ./t
  expect_match out '^done$'
done
[ $tried = 1 ] || skip "no other allocator is installed"
