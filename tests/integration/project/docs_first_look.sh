# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# README.md shows what the plugin and `smalloc sites` really print of docs/examples/lookup.c, and its pictures and blocks
# are those of the results.
. "$(dirname "$0")/../support/lib.sh"
[ -x "$SMALLOC" ] && [ -e "$PLUGIN" ] || skip "the plugin or the command was not built"
command -v "$CLANG" >/dev/null || skip "no $CLANG"
unset SMALLOC_CONF
PYTHONDONTWRITEBYTECODE=1 python3 - "$SMALLOC_SOURCE" "$SMALLOC_BUILD" <<'PY' || fail "today's output differs: scripts/first_look.py --record --only remarks,sites"
import json, pathlib, sys
sys.path.insert(0, sys.argv[1] + "/scripts")
import first_look
recorded = json.loads(first_look.RESULTS.read_text())["outputs"]
today = first_look.outputs(pathlib.Path(sys.argv[2]), ("remarks", "sites"))
for name, text in today.items():
    if text != recorded[name]:
        print(f"recorded:\n{recorded[name]}\ntoday:\n{text}", file=sys.stderr)
        sys.exit(1)
PY
expect_status 0 python3 "$SMALLOC_SOURCE/scripts/regen_docs.py" --check
[ "$(wc -l <"$SMALLOC_SOURCE/README.md")" -le 150 ] || fail "README.md has more than 150 lines"
# A picture that is not of its results is refused.
cp -r "$SMALLOC_SOURCE/scripts" "$SMALLOC_SOURCE/README.md" "$SMALLOC_SOURCE/docs" .
mkdir -p benchmarks tests smalloc
cp -r "$SMALLOC_SOURCE/smalloc/include" smalloc/
cp -r "$SMALLOC_SOURCE/benchmarks/results" benchmarks/
cp -r "$SMALLOC_SOURCE/tests/oracle" tests/
sed -i 's/glibc/another/' docs/pictures/speed-memory.svg
expect_status 1 python3 scripts/regen_docs.py --check
expect_match err 'speed-memory.svg: differs from its results'
expect_status 0 python3 scripts/regen_docs.py
diff docs/pictures/speed-memory.svg "$SMALLOC_SOURCE/docs/pictures/speed-memory.svg" || fail "the picture is not drawn alike"
