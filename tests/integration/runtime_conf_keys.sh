#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SMALLOC_CONF: an unknown key, a bad value and a feature of another version cost one warning line each and
# nothing else.
. "$(dirname "$0")/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/runtime_build.inc"
warnings() { SMALLOC_CONF=$1 LD_PRELOAD=$LIB /bin/true 2>err; grep -c '^smalloc: warning: SMALLOC_CONF: ' err || true; }
[ "$(warnings heap:split,pages:thp,budget:10%,cache:64m,stats:off,promote:auto,debug:off,abort:false,force:off,only-ours:off)" = 0 ] || fail "a good line warns: $(cat err)"
[ "$(warnings nonsense:1,heap:split)" = 1 ] || fail "unknown key"
expect_match err "'nonsense:1' is not a known key"
[ "$(warnings heap:all)" = 1 ] || fail "bad value"
expect_match err "'heap:all' has a value that is not understood"
for future in numa:hints directives:f trace:f text:on static:on demote:auto; do
  [ "$(warnings $future)" = 1 ] || fail "$future is silent"
  expect_match err "'$future' is not available in this version"
done
[ "$(warnings numa:off,text:off,static:off,demote:off)" = 0 ] || fail "switching off what is not there warns"
[ "$(warnings a:1,b:2,,c)" = 3 ] || fail "three unknown keys"
