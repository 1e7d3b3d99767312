#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SMALLOC_CONF: an unknown key, a bad value and a feature of another version each cost one warning
# and nothing else, once for all processes that a process starts.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
warnings() { SMALLOC_CONF=$1 LD_PRELOAD=$LIB /bin/true 2>err || { echo "status $?"; return; }; grep -c '^smalloc: warning: SMALLOC_CONF: ' err || true; }
[ "$(warnings heap:auto,pages:thp,budget:10%,cache:64m,stats:off,promote:auto,demote:auto,debug:off,abort:false,force:off,only-advised:off)" = 0 ] || fail "a good line warns: $(cat err)"
[ "$(warnings nonsense:1,heap:auto)" = 1 ] || fail "unknown key"
expect_match err "'nonsense:1' is not a known key"
[ "$(warnings heap:all)" = 1 ] || fail "bad value"
expect_match err "'heap:all' has a value that is not understood: heap is auto, off, superpage, migrate or guest; the default is taken"
# For each key: one line that names the key, its value and the valid values; the program runs with
# the default.
for bad in heap pages:4k force:perhaps budget:0 budget:101% budget:100t only-advised:2 cache:64q promote:now demote:often \
  promote:callers reserve:1m reserve:900t stats:often rate:0 rate:2 rate:x samples:0 samples:x samples:1048577 debug:2 abort:never program:maybe program:texts stats_file: stats_file:s.%q sysfs:; do
  [ "$(warnings "$bad")" = 1 ] || fail "$bad: not one line: $(cat err)"
  expect_match err "'$bad' has a value that is not understood: ${bad%%:*} is .*; the default is taken"
done
[ "$(warnings haep:off)" = 1 ] || fail "a misspelt key"
expect_match err "did you mean heap:\\?"
for bad in numa:yes numa_interval:0 numa_source:tlb numa_sample:0 numa_reserve:1q; do
  [ "$(warnings "$bad")" = 1 ] || fail "$bad: not one line: $(cat err)"
  expect_match err "'$bad' has a value that is not understood: ${bad%%:*} is .*; the default is taken"
done
[ "$(warnings numa:hints)" = 0 ] || fail "numa:hints warns: $(cat err)"
[ "$(warnings numa:off,program:off)" = 0 ] || fail "switching off what is not there warns"
[ "$(warnings a:1,b:2,,c)" = 3 ] || fail "three unknown keys"
# Only the collector records. If it is missing, or loaded under another name, one line says so, and
# there is no other message about the trace.
[ "$(warnings trace:f,directives:none.directives)" = 1 ] || fail "trace without a collector: $(cat err)"
expect_match err "'trace' needs libsmalloc_feedback.so \(smalloc record loads it\), ignored"
expect_match err "none.directives.*no such file"
[ ! -e f ] || fail "a trace without a collector"
# In a tree of processes with the same setting and library, the first one warns.
SMALLOC_CONF=nonsense:1 LD_PRELOAD=$LIB sh -c '/bin/true; /bin/true | /bin/true; (/bin/true; :); :' 2>err
[ "$(grep -c "'nonsense:1' is not a known key" err)" = 1 ] || fail "not one line for a shell and what it starts: $(cat err)"
# A child warns if its parent has no libsmalloc, or another setting.
SMALLOC_CONF=nonsense:1 sh -c "LD_PRELOAD=$LIB /bin/true; LD_PRELOAD=$LIB /bin/true; :" 2>err
[ "$(grep -c "'nonsense:1' is not a known key" err)" = 2 ] || fail "a warning is missing: $(cat err)"
SMALLOC_CONF=nonsense:1 LD_PRELOAD=$LIB sh -c 'SMALLOC_CONF=nonsense:2 /bin/true; :' 2>err
[ "$(grep -c "is not a known key" err)" = 2 ] || fail "another setting is not warned of: $(cat err)"
