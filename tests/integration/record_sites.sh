# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program compiled with the plugin is recorded under the site ids that smalloc sites prints, linked with libsmalloc or
# not.
. "$(dirname "$0")/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/build.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
command -v zstdcat >/dev/null || skip "no zstdcat"
write_gather
"$CLANG" -O2 -fplugin="$PLUGIN" gather.c -o plain
"$CLANG" -O2 -fplugin="$PLUGIN" gather.c -o linked "${LINK_LIBRARY[@]}"
for app in plain linked; do
  expect_status 0 "$SMALLOC" record -q --source instrumented -o $app.trace -- ./$app
  expect_match out "^$SUM huge_kib 0\$" # a profile is of base pages
  [ ! -s err ] || fail "$(cat err)"
  expect_status 0 "$SMALLOC" trace show $app.trace --json
  json_is out 'd["totals"]["peak_live_bytes"] >= 72 << 20'
  zstdcat $app.trace >raw
  "$SMALLOC" sites $app --json >sites.json
  python3 - sites.json raw <<'PY' || fail "the trace of $app lacks a site that was rewritten"
import json, sys
raw = open(sys.argv[2], "rb").read()
sites = [s for s in json.load(open(sys.argv[1]))["sites"] if s["rewritten"]]
assert sites, "nothing rewritten"
for s in sites: # named once, and used
    assert raw.count(bytes.fromhex(s["id"])[::-1]) >= 2, s["id"]
PY
done
