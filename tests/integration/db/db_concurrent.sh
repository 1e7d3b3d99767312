# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Many commands write to one history that does not exist yet, and many programs report meanwhile: no
# command fails and no report is lost.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
mkdir -p "$XDG_STATE_HOME/smalloc/runs"
chmod 700 "$XDG_STATE_HOME/smalloc/runs"
: >"$XDG_STATE_HOME/smalloc/smalloc.db" # an empty file, as while another command creates it
expect_status 0 "$SMALLOC" db list
rm "$XDG_STATE_HOME/smalloc/smalloc.db"*
report() { # WRITER NUMBER
  echo '{"schema":"smalloc.run/1","program":"aa'"$1"'","path":"app","host":"h","pid":'"$2"',"started_ns":'"$2"',"kind":"base","user_seconds":1}'
}
# Each command can take the reports of all programs; six start at once.
writers=6 each=30
for w in $(seq $writers); do
  (
    for n in $(seq $each); do
      report "$w" "$n" >>"$XDG_STATE_HOME/smalloc/runs/mine.$w.$n.tmp"
      mv "$XDG_STATE_HOME/smalloc/runs/mine.$w.$n.tmp" "$XDG_STATE_HOME/smalloc/runs/mine.$w.$n.jsonl"
      if [ $((n % 10)) = 0 ]; then
        "$SMALLOC" db list >/dev/null 2>"err.$w" || { cat "err.$w" >&2; exit 1; }
      fi
    done
  ) &
  pids[w]=$!
done
for w in $(seq $writers); do wait "${pids[w]}" || fail "writer $w failed"; done
expect_status 0 "$SMALLOC" db list --json
json_is out "d['totals']['runs'] == $((writers * each)) and d['totals']['programs'] == $writers"
[ -z "$(ls "$XDG_STATE_HOME/smalloc/runs")" ] || fail "reports are left"
