#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The memory rule, at the end and at the peak, at small sizes: coroutine stacks beside a hot table,
# buffers of which one page is used, a sparse table, temporaries of every step, sizes that drift,
# alternate or take turns, vectors that double, records and strings that are replaced, also in
# threads, and objects freed at random. Each needs at most max(2 %, 512 KiB) more than with glibc on
# base pages. Results agree, and docs/evidence/memory.md shows the recorded numbers.
. "$(dirname "$0")/../support/lib.sh"
command -v python3 >/dev/null || skip "python3 is not installed"
bloat=$SMALLOC_SOURCE/scripts/bloat.py
python3 "$bloat" --docs --check || fail "docs/evidence/memory.md is not what was recorded"
python3 "$SMALLOC_SOURCE/scripts/defaults.py" --docs --check || fail "docs/evidence/defaults.md is not what was recorded"
expect_status 2 python3 "$bloat" -p nonsense
expect_match err 'program \(nonsense\): unknown'
expect_status 2 python3 "$bloat" -c nonsense
expect_match err 'hint: one of base'
need_thp
run() { timeout 280 python3 "$bloat" --build "$SMALLOC_BUILD" --quick -c base,ours "$@"; }
# random_free: libsmalloc gives randomly freed memory back although the program makes few calls;
# glibc keeps it.
run --check >out 2>err || { cat out err; fail "the rule is broken"; }
for name in coroutines connections sparse_table temporaries churn replacement threads alternating turns strings vectors random_free; do
  expect_match out "^. $name "
done
read -r _ _ _ _ _ base _ ours _ < <(grep '^| random_free' out)
[ "$(awk "BEGIN { print ($ours <= $base / 2) }")" = 1 ] || { cat out; fail "random_free: $ours MiB beside glibc's $base"; }
# Objects of constant sizes leave little unused memory, also with everything on superpages.
python3 "$bloat" --build "$SMALLOC_BUILD" --quick -p replacement -c base,ours,ours-superpage >out 2>err || { cat out err; fail "no result"; }
unused=$(grep '^| replacement' out | tail -n 1 | sed -E 's/.*[|] ([0-9]+) %[^|]*[|]$/\1/')
[ "$unused" -le 12 ] || { cat out; fail "replacement: $unused % of the memory hold no live byte"; }
