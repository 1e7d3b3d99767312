# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# smalloc machine: presets, a file in the same form, and errors that name the key.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
expect_status 0 "$SMALLOC" machine list
expect_match out 'zen4 +2048 pages'
expect_match out '^\*'
expect_status 0 "$SMALLOC" machine list --json
json_is out 'd["schema"] == "smalloc.machines/1" and "core2" in [m["name"] for m in d["machines"]]'
expect_status 0 "$SMALLOC" machine show
expect_status 0 "$SMALLOC" machine show core2 --json
json_is out 'd["schema"] == "smalloc.machine/1" and d["tlb"][0]["entries"] == {"value": 256, "low": None, "high": None, "source": "preset"}'
cp out mine.json
# A threshold can name the value, range and source of a number.
expect_error 3 'l2_hit_cycles is 7' "$SMALLOC" machine show zen4 --fail-if 'l2_hit_cycles > 6'
expect_status 0 "$SMALLOC" machine show zen4 --fail-if 'l2_hit_cycles > 7' --fail-if 'tlb.0.entries < 2'
expect_status 0 "$SMALLOC" machine show ./mine.json --json
cmp out mine.json || fail "a profile changed on its way through a file"
sed 's/"entries"/"entires"/' mine.json >bad.json
expect_error 1 "cannot use machine profile \(bad.json\): key 'tlb\[0\].entries' is missing" "$SMALLOC" machine show bad.json
expect_error 1 'cannot use machine profile \(nosuch.json\): no such file' "$SMALLOC" machine show nosuch.json
expect_error 1 'neither a preset nor a profile' "$SMALLOC" machine show zen9
expect_match err '^hint: smalloc machine list'
# The minimal file of the documentation is accepted.
sed -n '/^```json/,/^```/p' "$SMALLOC_SOURCE/docs/reference.md" | sed '/^```/d' >least.json
expect_status 0 "$SMALLOC" machine show least.json
expect_match out '^mine: reach 3072 pages'
expect_error 1 'none is stored' env XDG_CONFIG_HOME="$tmp/none" "$SMALLOC" machine show stored
expect_match err '^hint: smalloc calibrate$'
