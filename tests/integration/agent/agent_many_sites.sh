#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The statistics have room for a limited number of sites. A run reports nothing about directives of
# sites beyond that number; otherwise they would count as unused.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
export XDG_STATE_HOME=$tmp/state
{
  printf '#include <stdlib.h>\n#include <string.h>\nstatic char *volatile last;\n'
  for i in $(seq 600); do
    printf '__attribute__((noinline)) static int f%d(void) { char *p = last = malloc(4 << 20); memset(p, %d, 4 << 20); int c = p[4096]; free(p); return c; }\n' "$i" $((i % 100 + 1))
  done
  printf 'int main(void) {\n  int sum = 0;\n'
  printf '  sum += f%d();\n' $(seq 600)
  printf '  return sum == 0;\n}\n'
} >many.c
"$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-rewrite=all many.c "${LINK_LIBRARY[@]}" -Wl,--build-id -o many
id=$(readelf -n many | sed -n 's/.*Build ID: //p')
[ -n "$id" ] || skip "the linker writes no build-id"
"$SMALLOC" sites ./many --json >sites.json
python3 - "$id" "$(input_of many)" >many.directives <<'PY'
import json, sys
ids = sorted({s["id"] for s in json.load(open("sites.json"))["sites"]})
assert len(ids) == 600, len(ids)
print(f"# smalloc.directives/1 program={sys.argv[1]} input={sys.argv[2]}")
for rank, site in enumerate(ids, 1):
    print(f"{site} page=2m rank={rank} pmb=10.0 superpages=2 numa=-")
PY
expect_status 0 env SMALLOC_CONF=directives:many.directives,input:many ./many
python3 - <<'PY' || fail "what the run says of its directives"
import glob, json, os
(path,) = glob.glob(os.environ["XDG_STATE_HOME"] + "/smalloc/runs/*.jsonl")
run = json.loads(open(path).read().splitlines()[-1])
verdicts = [d["verdict"] for d in run["directives"]]
print(len(verdicts), {v: verdicts.count(v) for v in set(verdicts)})
assert run["policy"] == "same-input" and 400 < len(verdicts) <= 511 and "failed" not in verdicts
PY
