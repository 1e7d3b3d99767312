# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# benchmarks/run keeps each trial at once: after an interruption it goes on, and repeats none. It
# draws, writes the numbers beside the picture, and names what is missing.
. "$(dirname "$0")/../support/lib.sh"
/usr/bin/python3 -c 'import matplotlib' 2>/dev/null || skip "no matplotlib (scripts/install-packages)"
[ -e "$PLUGIN" ] || skip "this build has no plugin"
command -v "$CLANG" >/dev/null || skip "no $CLANG"
run=$SMALLOC_SOURCE/benchmarks/run

expect_status 2 "$run" --quick --figure magee-fig2 --build "$tmp/nothing" --output "$tmp/figures" --database "$tmp/trials.db"
expect_match err 'error: --build .*no bin/smalloc'
expect_match err '^hint: scripts/demo'
expect_status 2 "$run" --quick --figure nonsense --build "$SMALLOC_BUILD" --output "$tmp/figures" --database "$tmp/trials.db"
expect_match err '\(nonsense\): no such figure'
expect_status 2 "$run"
echo text >no.db
expect_status 2 "$run" --quick --figure magee-fig2 --build "$SMALLOC_BUILD" --output "$tmp/figures" --database "$tmp/no.db"
expect_match err 'no\.db.*not a database'

measure=("$run" --quick --figure magee-fig2 --build "$SMALLOC_BUILD" --output "$tmp/figures" --database "$tmp/trials.db")
keys() { # of the trials in the database, in order
  python3 - "$tmp/trials.db" <<'P'
import sqlite3, sys
try:
    print("\n".join(key for key, in sqlite3.connect(sys.argv[1]).execute("SELECT key FROM trials ORDER BY id")))
except sqlite3.OperationalError:
    pass # no table yet
P
}
"${measure[@]}" >first 2>&1 &
pid=$!
for _ in $(seq 600); do
  [ "$(keys | grep -c .)" -lt 3 ] || break
  sleep 0.1
done
kill -TERM $pid
status=0
wait $pid || status=$?
[ $status = 130 ] || { cat first >&2; fail "an interrupted run ends with $status instead of 130"; }
expect_match first 'interrupted'
keys >before
[ "$(wc -l <before)" -ge 3 ] || fail "the trials before the interruption are lost"
[ ! -e "$tmp/figures/magee-fig2.svg" ] || fail "nothing was left to do: the interruption came too late"

expect_status 0 "${measure[@]}"
expect_match err "^$(wc -l <before) of [0-9]+ trials are in the database"
keys >after
[ -z "$(sort after | uniq -d)" ] || fail "trials were repeated: $(sort after | uniq -d)"
head -n "$(wc -l <before)" after | cmp - before || fail "trials from before the interruption were changed"
[ "$(wc -l <after)" -gt "$(wc -l <before)" ] || fail "the second start measured nothing"
expect_match "$tmp/figures/magee-fig2.svg" '<svg'
expect_match "$tmp/figures/magee-fig2.csv" '^core2,300,[0-9]'
expect_match "$tmp/figures/README.md" 'exact TLB'

# A third start measures nothing, and --draw gives the same bytes.
cp "$tmp/figures/magee-fig2.svg" drawn.svg
expect_status 0 "${measure[@]}"
expect_no_match err 'left:'
expect_status 0 "${measure[@]}" --draw
cmp drawn.svg "$tmp/figures/magee-fig2.svg" || fail "the same numbers give another picture"
