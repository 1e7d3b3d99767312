# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# smalloc study --stream: the built-in check predicts from the known order of its pages (or the
# PMU), and measures.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
[ -e "$PRELOAD" ] || skip "libsmalloc.so was not built"
export HOME=$tmp
unset XDG_CONFIG_HOME
expect_status 0 "$SMALLOC" stream --mib 24 -r 2 --json
json_is out 'd["schema"] == "smalloc.stream/1" and d["array_bytes"] == 8 << 20 and d["repeats"] == 2'
json_is out '[k["name"] for k in d["kernels"]] == ["copy", "scale", "add", "triad"] and all(k["bytes_per_second"] > 0 for k in d["kernels"])'
expect_error 1 'cannot run STREAM .*of memory are free' "$SMALLOC" stream --mib 16000000
cat >small.json <<'JSON'
{"schema": "smalloc.machine/1", "name": "small", "frequency_hz": 1e9, "reach_pages": 64,
 "tlb": [{"level": 1, "page_bytes": [4096], "entries": 64, "ways": 0}],
 "walk_cost": [{"page_bytes": 4096, "pages": 1000, "cycles": 50}]}
JSON
case $(thp_mode) in madvise | always) verify=--verify ;; *) verify= ;; esac
expect_status 0 "$SMALLOC" study --stream --stream-mib 192 --predict $verify --machine ./small.json -r 1 --json
json_is out 'd["commands"][0]["name"] == "stream" and d["predictions"][0]["source"] in ("stream", "pmu")'
# 16,384 pages an array; ten repeats of 2 + 2 + 3 + 3 arrays, and the check of three: every page misses.
json_is out 'd["predictions"][0]["source"] == "pmu" or d["predictions"][0]["misses"] == (10 * 10 + 3) * 16384'
json_is out 'd["predictions"][0]["source"] == "pmu" or d["predictions"][0]["cost_cycles"] == 50'
json_is out 'd["no_events"] is None or d["commands"][0]["results"][0]["cpi_stack"] is None'
if [ -n "$verify" ]; then
  json_is out 'd["predictions"][0]["base_seconds"] > 0 and type(d["predictions"][0]["within_bound"]) is bool'
  # The arrays were on the page size of the configuration, as far as they existed at the last
  # sample. A tenth of a second before the end some pages may still be untouched.
  json_is out '(lambda heap: heap["thp_bytes"] >= 10 * heap["base_bytes"] > 0)(d["commands"][0]["results"][1]["footprint"]["segments"][0])'
  expect_status 0 "$SMALLOC" study --stream --stream-mib 96 --predict --verify --machine ./small.json -r 1
  expect_match out '^stream: .* TLB misses .* = at most [0-9.]+ % of the time'
  expect_match out '^predicted: at most [0-9.]+ s of [0-9.]+ s'
  expect_match out '^measured: -?[0-9.]+ % of user time, [0-9.]+ s to [0-9.]+ s'
fi
# Without a stored or named profile the cost is still measured on this machine, and a note names the
# source.
expect_status 0 "$SMALLOC" study --stream --stream-mib 24 --predict -r 1 --json
expect_match err 'no calibrated profile(: the cost of a miss was measured briefly|, and none can be measured)'
if grep -q 'was measured briefly' err; then
  json_is out 'd["predictions"] == [] or d["predictions"][0]["machine"].startswith("measured briefly")'
fi
expect_error 2 '--stream is the command' "$SMALLOC" study --stream -- ./app
