# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# smalloc numa topology: this system, a machine that hwloc simulates, a described one, and errors
# that name the key.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
expect_status 0 "$SMALLOC" numa topology
expect_match out '^NODE'
nodes=$(find /sys/devices/system/node -maxdepth 1 -name 'node[0-9]*' 2>/dev/null | wc -l)
expect_status 0 "$SMALLOC" numa topology --json
[ "$nodes" = 0 ] || json_is out "d['totals']['nodes'] == $nodes"
HWLOC_SYNTHETIC='numa:4(memory=1073741824) core:2 pu:1' expect_status 0 "$SMALLOC" numa topology --json
json_is out 'd["schema"] == "smalloc.topology/1" and [n["cpus"] for n in d["nodes"]] == [[0, 1], [2, 3], [4, 5], [6, 7]]'
cp out four.json
expect_status 0 "$SMALLOC" numa topology four.json --json
cmp out four.json || fail "a topology changed on its way through a file"
expect_status 0 "$SMALLOC" numa topology four.json
expect_match out '^3 +6-7 +1.0 GiB'
expect_status 3 "$SMALLOC" numa topology four.json --fail-if 'totals.nodes > 3'
sed 's/"cpus": \[/"cpus": ["x",/' four.json >bad.json
expect_error 1 "cannot use topology \(bad.json\): key 'nodes\[0\].cpus'" "$SMALLOC" numa topology bad.json
expect_match err '^hint: smalloc numa topology --json'
expect_error 1 'cannot use topology \(none.json\): no such file' "$SMALLOC" numa topology none.json
expect_error 2 '' "$SMALLOC" numa
