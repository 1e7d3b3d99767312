# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The same history on a real PostgreSQL server, which runs as an ordinary user in a folder of its own:
# schema, concurrent writers, merge from and to a file, and clear errors.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/fixtures/postgresql.bash"

expect_status 0 "$SMALLOC" db list --db "$db" --json
json_is out 'd["totals"]["programs"] == 0 and d["version"] >= 2'
# The server gets the same contents as a file, by the same commands.
mkdir -p "$XDG_STATE_HOME/smalloc/runs"
for n in 1 2 3; do
  echo '{"schema":"smalloc.run/1","program":"aa","path":"/bin/o'"'"'brien","host":"h","pid":1,"started_ns":'$n',"kind":"base","user_seconds":1.5,"minor_faults":7,"directives":[{"site":"0123456789abcdef","taken":true,"verdict":"held"}]}'
done >"$XDG_STATE_HOME/smalloc/runs/aa.jsonl"
expect_status 0 "$SMALLOC" db list
expect_status 0 "$SMALLOC" db merge --db "$db" "$XDG_STATE_HOME/smalloc/smalloc.db"
expect_status 0 "$SMALLOC" db merge --db "$db" "$XDG_STATE_HOME/smalloc/smalloc.db"
expect_status 0 "$SMALLOC" db show aa --db "$db" --json
json_is out '[(r["user_seconds"], r["minor_faults"], r["seconds"], r["path"]) for r in d["runs"]] == 3 * [(1.5, 7, None, "/bin/o'"'"'brien")]'
json_is out 'd["runs"][0]["directives"][0]["verdict"] == "held" and d["comparison"]["base_seconds"] == 1.5'
[ "$(sql 'SELECT count(*) FROM smalloc.runs')" = 3 ] || fail "the server has something else"
expect_status 0 "$SMALLOC" db merge --db back.db "$db"
expect_status 0 "$SMALLOC" db list --db back.db --json
json_is out 'd["totals"]["runs"] == 3'
# An analysis goes there as well.
if [ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] && [ -r "$PLUGIN" ]; then
  . "$SMALLOC_SOURCE/tests/integration/support/build.bash"
  write_gather
  "$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-rewrite=all gather.c -o app
  expect_status 0 "$SMALLOC" record -q --source instrumented -o t.trace -- ./app
  expect_status 0 "$SMALLOC" analyze t.trace --machine zen4 --seconds 0.001 -q --db "$db"
  expect_status 0 "$SMALLOC" db export ./app --db "$db"
  expect_match out '^[0-9a-f]{16} page=2m rank=1 pmb=100.0 superpages=32 numa=- # '
fi
# Concurrent writers, each with its own reports.
for w in 1 2 3 4; do
  (
    export XDG_STATE_HOME=$tmp/state.$w
    mkdir -p "$XDG_STATE_HOME/smalloc/runs"
    for n in $(seq 20); do
      echo '{"schema":"smalloc.run/1","program":"bb","path":"app","host":"'"$w"'","pid":1,"started_ns":'"$n"',"kind":"base","user_seconds":1}'
    done >"$XDG_STATE_HOME/smalloc/runs/bb.jsonl"
    "$SMALLOC" db list --db "$db" >/dev/null 2>"err.$w" || { cat "err.$w" >&2; exit 1; }
  ) &
  pids[w]=$!
done
for w in 1 2 3 4; do wait "${pids[w]}" || fail "writer $w failed"; done
[ "$(sql "SELECT count(*) FROM smalloc.runs WHERE program = 'bb'")" = 80 ] || fail "runs are lost"
expect_status 0 "$SMALLOC" db prune --db "$db" --older-than 1h --keep 5 --json
json_is out 'd["removed"]["runs"] >= 75'
# Another version, and a server that is not there.
sql 'UPDATE smalloc.schema_version SET version = 999' >/dev/null
expect_error 1 'it has version 999' "$SMALLOC" db list --db "$db"
expect_error 1 'cannot use the history \(postgresql://tester:\.\.\.@/history\?host=/nosuch\)' "$SMALLOC" db list --db 'postgresql://tester:secret@/history?host=/nosuch'
expect_no_match err secret
