# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program that its directives slow down is put back to base pages: from the reports of its runs to
# the pages of the next run. A new analysis tries superpages again. Other inputs keep their
# superpages.
. "$(dirname "$0")/../support/lib.sh"
export SMALLOC_CONF=heap:guest,populate:always # only the decisions; heap:auto also gives superpages to filled objects
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_recorded_app
expect_status 0 "$SMALLOC" record -q --source instrumented -o t.trace -- ./app one
expect_status 0 "$SMALLOC" analyze t.trace --machine zen4 --seconds 0.001 -q
expect_status 0 "$SMALLOC" db show ./app --json
input=$(python3 -c 'import json; print(json.load(open("out"))["analyses"][0]["input"])')
# report KIND SECONDS...: one report for each number of seconds, in libsmalloc's form.
now=$(date +%s%N)
report() { # KIND SECONDS...
  local kind=$1 s
  shift
  mkdir -p "$XDG_STATE_HOME/smalloc/runs"
  chmod 700 "$XDG_STATE_HOME/smalloc/runs"
  for s; do
    now=$((now + 1))
    (umask 077 && echo '{"schema":"smalloc.run/1","program":"'"$id"'","path":"app","host":"h","pid":1,"started_ns":'$now',"kind":"'"$kind"'","input":"'"$input"'","minor_faults":20000,"user_seconds":'"$s"',"policy":"same-input","directives":[]}' \
      >>"$XDG_STATE_HOME/smalloc/runs/$id.jsonl")
  done
}
report base 1.00 1.01 1.02 # each run faulted 20,000 times
report superpages 1.5 1.5 1.015 # the last one is within the spread
expect_status 0 "$SMALLOC" db export ./app
expect_no_match out 'verdict='
report superpages 1.5 1.5
expect_status 0 "$SMALLOC" db export ./app
expect_no_match out 'verdict='
report superpages 1.5
expect_status 0 "$SMALLOC" db export ./app -o slower.directives
expect_match slower.directives "^# smalloc.directives/1 .* base_input=$input .* slower_inputs=$input verdict=slower\$"
expect_status 0 "$SMALLOC" db show ./app
expect_match out 'user and system time: 1.01 s on base pages \(3 runs, 1.00 to 1.02\), 1.50 s with directives \(6 runs\): slower, put back to base pages$'
expect_status 0 "$SMALLOC" apply -- ./app one
expect_match err 'app: directives made it slower than base pages with this input: it runs on base pages$'
expect_match out "^$SUM huge_kib 0\$"
SMALLOC_CONF=heap:guest,directives:slower.directives,validate:off expect_status 0 ./app one
expect_match out "^$SUM huge_kib 0\$"
expect_status 0 "$SMALLOC" db show ./app --json
json_is out 'd["comparison"]["slower_inputs"] == ["'"$input"'"]'
runs_huge "$SMALLOC" apply -- ./app another
expect_no_match err 'slower'
SMALLOC_CONF=heap:guest,directives:slower.directives,validate:off runs_huge ./app another
expect_status 0 "$SMALLOC" directives show slower.directives
expect_match out ' 2m \(base with 1 input\) '
expect_status 0 "$SMALLOC" directives show slower.directives --json
json_is out 'd["slower_inputs"] == 1 and d["totals"]["on_superpages"] > 0'
sed 's/ verdict=slower//' slower.directives >always.directives
expect_status 0 "$SMALLOC" directives diff slower.directives always.directives
expect_match out '2m \(base with 1 input\) +2m '
# Of two inputs the message describes the latest and counts the other.
input=00000000000000aa
now=$(date +%s%N) # after the runs above
report base 1 1 1
report superpages 2 2 2 0.5 0.5 0.5
expect_status 0 "$SMALLOC" db show ./app
expect_match out "^slower, and put back to base pages, with 1 input: $(sed -n 's/.* slower_inputs=\(.\{5\}\).*/\1/p' slower.directives)[.]{3}\$"
report superpages 2 2 2
expect_status 0 "$SMALLOC" db show ./app
expect_match out '^slower, and put back to base pages, with 2 inputs: 00000[.]{3}, [0-9a-f]{5}[.]{3}$'
# Runs from before the next analysis do not count for its directives.
expect_status 0 "$SMALLOC" analyze t.trace --machine zen4 --seconds 0.001 -q
expect_status 0 "$SMALLOC" db export ./app
expect_no_match out 'verdict='
need_thp
runs_huge "$SMALLOC" apply -q -- ./app one
# The promise of the first line beside this run.
sed 's/ verdict=slower//' slower.directives >again.directives
expect_match again.directives ' base_faults=20000 base_input=[0-9a-f]{16} base_most_ms=1020 base_ms=1010 base_runs=3 '
SMALLOC_CONF=heap:guest,directives:again.directives,stats:exit expect_status 0 ./app one
expect_match err '^smalloc: first-touch faults saved: +[0-9]+ predicted, 1[0-9]{4} measured$'
expect_match err '^smalloc: user and system time: +[0-9]+ ms; on base pages 1010 ms, at most 1020 in 3 runs$'
SMALLOC_CONF=heap:guest,directives:again.directives,stats:exit expect_status 0 ./app another
expect_no_match err 'user and system time'
times_touches || exit 0
expect_match err '^smalloc: first touch of a superpage: +[0-9]+ us, mean of 1 touched in advance$'
SMALLOC_CONF=heap:guest,directives:again.directives,stats:json expect_status 0 ./app one
json_is err 'd["agent"]["superpages_touched"] == 1 and 0 < d["agent"]["touch_ns"] < 1e9'
