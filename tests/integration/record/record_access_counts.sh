#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The instructions that an instrumented program pays for an access, above the plain program: without
# the library, at the default rate with nothing sampled, and at rate 1. Measured: a gather from a
# small table, which the access's own memory of pages makes cheap; one from a large table, where
# each access is recorded; and linked lists. The golden file has the limits. A more expensive path
# fails, a cheaper one asks for a new golden file.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
golden=$SMALLOC_SOURCE/tests/integration/support/access_costs.golden
FEEDBACK=$SMALLOC_BUILD/lib/libsmalloc_feedback.so
[ -r "$FEEDBACK" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
command -v valgrind >/dev/null || skip "valgrind is missing"
[ "$(uname -m)" = x86_64 ] || skip "the golden counts are for x86-64"
kernel() { # NAME: plain and instrumented
  "$CLANG" -O2 "$SMALLOC_SOURCE/benchmarks/kernels/$1.c" -lm -o "$1"
  quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate \
    "$SMALLOC_SOURCE/benchmarks/kernels/$1.c" -lm -o "$1.told"
}
counted() { # ENVIRONMENT PROGRAM ARGUMENT...
  rm -f t.trace
  env "$1" LD_PRELOAD="${preload:-}" valgrind --tool=callgrind --callgrind-out-file=/dev/null "./$2" "${@:3}" 2>&1 |
    sed -n 's/.*Collected : //p'
}
# costs WHAT ACCESSES SHORT LONG KERNEL: prints tenths of an instruction an access, from the
# difference of two runs; the longer one makes ACCESSES more. SHORT and LONG are arguments of the
# kernel, words separated by blanks.
costs() {
  local what=$1 accesses=$2 plain told
  local -a short long
  read -ra short <<<"$3"
  read -ra long <<<"$4"
  over() { # ENVIRONMENT
    told=$(($(counted "$1" "$5.told" "${long[@]}") - $(counted "$1" "$5.told" "${short[@]}")))
    echo $(((told - plain) * 10 / accesses))
  }
  preload=
  plain=$(($(counted A=1 "$5" "${long[@]}") - $(counted A=1 "$5" "${short[@]}")))
  echo "$what, no library: $(over A=1 "${@:2}")"
  preload=$FEEDBACK
  echo "$what, default rate: $(over SMALLOC_CONF=trace:t.trace,rate:1e-9 "${@:2}")"
  echo "$what, rate 1: $(over SMALLOC_CONF=trace:t.trace,rate:1 "${@:2}")"
}
kernel spmv
kernel hash_probe
kernel tree
{
  # Each iteration gathers 2 x 2^10 x 16 times; from 32 pages, or from 4,096.
  costs "gather from a small table" $((32768 * 8)) "10 14 16 2" "10 14 16 10" spmv
  costs "gather from a large table" $((32768 * 8)) "10 21 16 2" "10 21 16 10" spmv
  costs "hash table" 100000 "14 50000" "14 150000" hash_probe
  costs "tree" 20000 "4000 10000" "4000 30000" tree
} >counts
cat counts
if [ "${SMALLOC_UPDATE_GOLDEN:-}" ]; then cp counts "$golden"; exit; fi
while IFS=: read -r what was; do
  now=$(sed -n "s/^$what://p" counts)
  [ -n "$now" ] || fail "not counted: $what"
  [ "$now" -le $((was * 21 / 20 + 2)) ] || fail "$what: $now tenths of an instruction, were $was"
  # The tree at rate 1 takes 421 to 530 instructions, which differ from run to run.
  [ "$now" -ge $((was * 3 / 4 - 20)) ] || fail "$what: only $now tenths of an instruction, were $was: SMALLOC_UPDATE_GOLDEN=1 $0"
done <"$golden"
