#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The memory rule at small sizes: coroutine stacks beside a hot table, buffers of which one page is used, a sparse table and
# temporaries of every step need at most max(2 %, 512 KiB) more than with glibc on base pages, beside a fixed cost of the
# library; results agree; and docs/memory.md says what was recorded.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip "python3 is not installed"
bloat=$SMALLOC_SOURCE/scripts/bloat.py
python3 "$bloat" --docs --check || fail "docs/memory.md is not what was recorded"
expect_status 2 python3 "$bloat" -p nonsense
expect_match err 'program \(nonsense\): unknown'
expect_status 2 python3 "$bloat" -c nonsense
expect_match err 'hint: one of base'
need_thp
run() { timeout 250 python3 "$bloat" --build "$SMALLOC_BUILD" --quick -c base,ours "$@"; }
run -p coroutines --check >out 2>err || { cat out err; fail "the rule is broken"; }
expect_match out '^. coroutines '
# The others, whose memory at this size is small beside the library's own 1.5 MiB.
run -p connections,sparse_table,temporaries >out 2>err || { cat out err; fail "no result"; }
while read -r _ name _ live _ base _ ours _; do
  case $name in
  connections | sparse_table | temporaries)
    [ "$(awk "BEGIN { print ($ours <= $base * 1.05 + 2) }")" = 1 ] || { cat out; fail "$name: $ours MiB instead of $base (live $live)"; }
    ;;
  esac
done <out
grep -q connections out || fail "no line of connections"
# What has been freed at random goes back although the program hardly calls any more; glibc keeps it.
run -p random_free --check >out 2>err || { cat out err; fail "random_free: the rule is broken"; }
read -r _ _ _ _ _ base _ ours _ < <(grep random_free out)
[ "$(awk "BEGIN { print ($ours <= $base / 2) }")" = 1 ] || { cat out; fail "random_free: $ours MiB beside glibc's $base"; }
