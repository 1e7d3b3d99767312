# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Twenty hosts report to one history on a PostgreSQL server. Some of their commands are killed, at
# each step of an import, and the server crashes meanwhile. Once each host has run a command again,
# the history has each report once, and each result of a directive counts once.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/fixtures/postgresql.bash"
hosts=20 rounds=4 each=25 # reports of a host in a round: 2,000 in all
"$CC" -shared -fPIC -O1 "$SMALLOC_SOURCE/tests/integration/fixtures/die.c" -o die.so
expect_status 0 "$SMALLOC" db list --db "$db" # makes the tables
# Each report has a result of one directive of its program; programs aa, bb and cc are on all hosts.
site=0123456789abcdef
for program in aa bb cc; do
  sql "INSERT INTO smalloc.programs VALUES ('$program', '/bin/$program', 1, 1)" >/dev/null
  sql "INSERT INTO smalloc.directives VALUES ('$program', '$site', '', 21, 1, 32, 80, '', '', 0, 0)" >/dev/null
done
# write_reports HOST ROUND: writes reports as programs do, and notes them in written.HOST.
write_reports() {
  local host=$1 round=$2 n program started verdict
  for n in $(seq $each); do
    case $((n % 3)) in 0) program=aa ;; 1) program=bb ;; 2) program=cc ;; esac
    started=$((round * each + n)) verdict=held
    [ $((n % 5)) != 0 ] || verdict=failed
    echo '{"schema":"smalloc.run/1","program":"'$program'","path":"/bin/'$program'","host":"host'"$host"'","pid":'"$n"',"started_ns":'"$started"',"kind":"superpages","minor_faults":'"$((host * 1000 + n))"',"directives":[{"site":"'$site'","taken":true,"verdict":"'$verdict'"}]}' >>"$XDG_STATE_HOME/smalloc/runs/$program.jsonl"
    echo "$program|host$host|$n|$started|$((host * 1000 + n))|$site|$verdict" >>"written.$host"
  done
}
# live HOST: what a host does. Its commands may fail while the server is away; every third command
# is killed, at another step on each host.
live() {
  local host=$1 round
  export XDG_STATE_HOME=$tmp/state.$host
  mkdir -p "$XDG_STATE_HOME/smalloc/runs"
  for round in $(seq $rounds); do
    write_reports "$host" "$round"
    case $(((host + round) % 6)) in
    0) LD_PRELOAD=$tmp/die.so DIE_AT_SEND=$(((host * 3 + round) % 14 + 1)) "$SMALLOC" db list --db "$db" >/dev/null 2>&1 || true ;;
    3) LD_PRELOAD=$tmp/die.so DIE_AT_UNLINK=$((host % 3 + 1)) "$SMALLOC" db list --db "$db" >/dev/null 2>&1 || true ;;
    *) "$SMALLOC" db list --db "$db" >/dev/null 2>"err.$host" || [ -s "err.$host" ] || return 1 ;;
    esac
    echo >>"done.$host"
  done
}
stored_runs() { sql 'SELECT count(*) FROM smalloc.runs'; }
for host in $(seq $hosts); do
  live "$host" >"log.$host" 2>&1 &
  pids[host]=$!
done
# The server crashes in the middle: a third of the reports are there, and others are on the way.
until [ "$(stored_runs)" -ge $((hosts * rounds * each / 3)) ] || [ "$(cat done.* 2>/dev/null | wc -l)" = $((hosts * rounds)) ]; do sleep 0.05; done
crash_server || fail "the server cannot be stopped"
start_server || { cat start.log server/log >&2; fail "the server does not start again"; }
for host in $(seq $hosts); do wait "${pids[host]}" || { cat "log.$host" >&2; fail "host $host failed without a reason"; }; done
echo "$(stored_runs) of $((hosts * rounds * each)) reports are there before the last commands"
# A process that is killed leaves its files under the names that it gave them.
left=$(find state.*/smalloc/runs -type f | wc -l)
[ "$left" -gt 0 ] || fail "no command was interrupted: the test shows nothing"
pids=()
for host in $(seq $hosts); do
  XDG_STATE_HOME=$tmp/state.$host "$SMALLOC" db import --db "$db" >/dev/null 2>"err.$host" &
  pids[host]=$!
done
for host in $(seq $hosts); do wait "${pids[host]}" || { cat "err.$host" >&2; fail "the last command of host $host failed"; }; done
[ -z "$(find state.*/smalloc/runs -type f)" ] || fail "reports are left: $(find state.*/smalloc/runs -type f)"
# compare WHAT QUERY FILE: the query's rows are the lines of the file.
compare() {
  sql "$2" | LC_ALL=C sort >stored
  LC_ALL=C sort "$3" >expected
  [ -s expected ] || fail "nothing was written"
  diff expected stored >differences || {
    head -20 differences >&2
    fail "$1: $(sed -n '/^</p' differences | wc -l) lost, $(sed -n '/^>/p' differences | wc -l) doubled or other"
  }
}
cat written.* >written
[ "$(wc -l <written)" = $((hosts * rounds * each)) ] || fail "the hosts have not written all reports"
compare reports 'SELECT program, host, pid, started_ns, minor_faults, site, verdict FROM smalloc.runs JOIN smalloc.validations ON run = id' written
awk -F'|' '{ n[$1]++; held[$1] += $7 == "held" } END { for (p in n) print p "|" n[p] "|" held[p] }' written >counts
compare 'results of directives' 'SELECT program, validated, held FROM smalloc.directives' counts
[ "$(stored_runs)" = $((hosts * rounds * each)) ] || fail "runs without their results are there"
