#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A trace contains the program's arguments, whatever command started it, so directives from it are
# for that input.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
FEEDBACK=$SMALLOC_BUILD/lib/libsmalloc_feedback.so
[ -r "$FEEDBACK" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate "$SMALLOC_SOURCE/benchmarks/kernels/gups.c" -lm -o gups
# input_of FILE: prints the input in the header of its directives.
input_of() {
  expect_status 0 "$SMALLOC" analyze -q --no-db --machine zen3 "$1" -o d
  sed -n '1s/.* input=\([0-9a-f]*\).*/\1/p' d
}
by_hand() { SMALLOC_CONF=$1 LD_PRELOAD=$FEEDBACK ./gups "${@:2}" >/dev/null; }
by_hand trace:a.trace,rate:1 20 100
by_hand trace:b.trace,rate:1 20 100
by_hand trace:c.trace,rate:1 20 110
by_hand trace:d.trace,rate:1,input:mine 20 110
"$SMALLOC" record -q --rate 1 -o e.trace -- ./gups 20 100 >/dev/null
# Behind a command that executes the program: the history has the arguments of the program.
export XDG_STATE_HOME=$PWD/state
"$SMALLOC" record -q --rate 1 -o f.trace -- env ANY=1 ./gups 20 100 >/dev/null
mv f.trace.* f.trace # env has started a trace itself
expect_status 0 "$SMALLOC" analyze -q --machine zen3 f.trace -o f.directives
SMALLOC_CONF=input:mine "$SMALLOC" record -q --rate 1 -o g.trace -- ./gups 20 110 >/dev/null
expect_status 0 "$SMALLOC" analyze -q --machine zen3 g.trace -o g.directives
a=$(input_of a.trace)
[[ $a =~ ^[0-9a-f]{16}$ ]] || fail "no input in the directives: $(head -1 d)"
[ "$(input_of b.trace)" = "$a" ] || fail "the same arguments are another input"
[ "$(input_of e.trace)" = "$a" ] || fail "recorded by the command it is another input"
[ "$(input_of c.trace)" != "$a" ] || fail "other arguments are the same input"
named=$(input_of d.trace)
expect_status 0 "$SMALLOC" analyze -q --no-db --machine zen3 --input mine c.trace -o d
grep -q "input=$named" d || fail "input:mine is $named, --input mine: $(head -1 d)"
head -1 f.directives | grep -q "input=$a " || fail "behind env it is another input: $(head -1 f.directives)"
head -1 g.directives | grep -q "input=$named " || fail "named while it is recorded it has another name: $(head -1 g.directives)"
# Two inputs together have no input name.
expect_status 0 "$SMALLOC" analyze -q --no-db --machine zen3 a.trace c.trace -o d
! head -1 d | grep -q 'input=' || fail "two inputs are one: $(head -1 d)"
# libsmalloc computes the same name.
input_of a.trace >/dev/null
expect_status 0 env SMALLOC_CONF=trace:off,directives:d,stats:json,stats_file:s.json LD_PRELOAD="$PRELOAD" ./gups 20 100
grep -q '"policy": *"same-input"' s.json || fail "$(grep -o '"policy[^,]*' s.json)"
expect_status 0 env SMALLOC_CONF=trace:off,directives:d,stats:json,stats_file:s.json LD_PRELOAD="$PRELOAD" ./gups 20 110
grep -q '"policy": *"other-input"' s.json || fail "$(grep -o '"policy[^,]*' s.json)"
