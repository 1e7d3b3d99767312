#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# guest.bash decides what is tried in a guest of several nodes, as root: each check is one line "ok NAME" or "not ok NAME: WHY".
# Where pages lie is what the kernel says of each one (walker.c asks it), never what smalloc says of itself.
set -u
nodes=$1 build=$2 programs=$3
walker=$build/tests/numa_walker
smalloc=$build/bin/smalloc
preload=$build/lib/libsmalloc_preload.so
last=$((nodes - 1))
cd "$(mktemp -d)" || exit 1
failures=0
bad() { echo "not ok $name: $*"; sed 's/^/  | /' out err log 2>/dev/null | tail -6; failures=$((failures + 1)); }
good() { echo "ok $name ($((SECONDS - begun)) s)"; }

# Kernel balancing would do our work for us, and hide that we do not.
echo 0 >/proc/sys/kernel/numa_balancing
echo always >/sys/kernel/mm/transparent_hugepage/enabled

# walk NAME CONF WALKER-ARGUMENT...: status in $status, output in ./out ./err, the log in ./log.
walk() {
  name=$1
  local conf=$2
  shift 2
  begun=$SECONDS status=0
  rm -f log out err
  timeout 60 env LD_PRELOAD="$preload" SMALLOC_CONF="$conf" "$walker" "$@" >out 2>err || status=$?
}
fast=numa:migrate,numa_source:clock,numa_clock:250,numa_interval:0.5,numa_reserve:8m
# on NODE: pages on it in the last report; of: all of them.
on() { awk -v n="$1" '/^pages/ { c = 0; for (i = 2; i <= NF; i++) if (split($i, a, ":") == 2 && a[1] == n) c = a[2] } END { print c + 0 }' out; }
word() { awk -v w="$1" '/^pages/ { for (i = 1; i < NF; i++) if ($i == w) v = $(i + 1) } END { print v + 0 }' out; }
# ended KEY: a number of the log's last line.
ended() { awk -v k="$1" '$1 == "end" { for (i = 2; i <= NF; i++) { split($i, a, "="); if (a[1] == k) v = a[2] } } END { print v + 0 }' log; }
# expect CONDITION...: a shell condition, told when it does not hold.
expect() {
  if [ "$status" != 0 ]; then bad "status $status"; return; fi
  if [ "$(word wrong)" != 0 ]; then bad "contents changed"; return; fi
  local condition
  for condition in "$@"; do
    if ! eval "[ $condition ]"; then bad "$condition"; return; fi
  done
  good
}

# --- Nothing asked, nothing done: the trap is real. ---
walk untouched numa:off far base 4 1
expect '"$(on 0)" = 1024'

# --- Migration to the node that uses the pages, counted by the monitor outside. ---
export WALKER_PHASES=1
walk base_pages "$fast,numa_log:log" far base 4 20 "$last:1000"
expect '"$(on $last)" -ge 1000' '"$(ended pages)" -ge 1000' '"$(ended not_allowed)" = 0'
walk superpages "$fast,numa_log:log" far thp 16 20 "$last:4096"
expect '"$(on $last)" = 4096' '"$(word huge)" -ge 16384' '"$(ended superpages)" -ge 8' '"$(ended splits)" = 0'
unset WALKER_PHASES

if [ "$nodes" = 2 ]; then
  walk locked "$fast,numa_log:log" far locked 4 20 1:1000
  expect '"$(on 1)" -ge 1000'
  walk hugetlb "$fast,numa_log:log" far hugetlb 16 20 1:4096
  expect '"$(on 1)" = 4096' '"$(ended superpages)" -ge 8'
  walk shared "$fast,numa_log:log" far shared 4 3
  expect '"$(on 1)" = 0' '"$(ended shared)" -ge 100'
  walk objects_of_smalloc "$fast,numa_log:log" far malloc 18 20 1:3500
  expect '"$(on 1)" -ge 3500'

  # Each half of a superpage has another user: split, and half of it moves.
  walk split "$fast,numa_log:log,numa_interval:1" halves thp 4 20 1:500
  expect '"$(ended splits)" -ge 1' '"$(on 1)" -ge 400' '"$(on 1)" -le 520' '"$(on 0)" -ge 500'
  # Two users of everything: nothing is gained.
  walk mixed "$fast,numa_log:log" both thp 8 3
  expect '"$(ended splits)" = 0' '"$(ended superpages)" -le 4'
  # Whoever moves stays for three intervals, whatever happens: in four seconds of half-second intervals a page
  # moves twice at most, and trust ends it.
  walk freeze "$fast,numa_log:log,numa_policy:paper" wander thp 2 4
  [ -s log ] && moves=$(awk '/^move/ { if (l[$3] && substr($2, 10) - l[$3] <= 3) early++; l[$3] = substr($2, 10); n++ } END { print n + 0, early + 0 }' log)
  expect '"${moves#* }" = 0' '"${moves% *}" -ge 1'

  # Not enough memory on the target: everything stays.
  walk full_target "$fast,numa_log:log,numa_reserve:600m" far thp 8 2
  expect '"$(on 1)" = 0' '"$(ended target_full)" -ge 1'
  walk rate_limit "$fast,numa_log:log,numa_rate:2m" far thp 16 4
  expect '"$(on 1)" -ge 512' '"$(ended rate_limited)" -ge 1' '"$(on 1)" -le 3584'

  # Ends in all ways while pages move.
  for how in exit:5 _exit:6 abort:134; do
    for s in 0.55 0.6 0.7; do
      walk "ends_by_${how%:*}_$s" "$fast,numa_interval:0.1" "${how%:*}" thp 64 "$s"
      if [ "$status" = "${how#*:}" ]; then good; else bad "status $status"; fi
    done
  done
  walk unmapped_meanwhile "$fast,numa_interval:0.1,numa_log:log" unmap base 4 20 1:900
  expect '"$(on 1)" -ge 900'
  walk thread_storm "$fast,numa_bind:on,numa_log:log" storm base 2 20 1:450
  expect '"$(ended threads_bound)" -ge 1'
  walk forks "$fast,numa_log:log" fork base 4 20 1:900
  expect '"$(on 1)" -ge 900'
  walk executes "$fast,numa_log:log" exec far thp 8 20 1:2048
  expect '"$(on 1)" = 2048'
  walk stops_threads "$fast,numa_stop:on,numa_log:log" far base 4 20 1:900
  expect '"$(on 1)" -ge 900' '"$(ended stops)" -ge 1'
  # Stopped and continued: the intervals that were slept through do not come back as a burst.
  name=stopped_process begun=$SECONDS
  (LD_PRELOAD=$preload SMALLOC_CONF="$fast,numa_log:log" exec "$walker" far thp 8 8 >out 2>err) &
  sleep 1.5
  victim=$(pgrep -n -x numa_walker)
  kill -STOP "$victim"; sleep 2; kill -CONT "$victim"
  status=0; wait $! || status=$?
  expect '"$(on 1)" = 2048' '"$(ended late)" -ge 1' '"$(ended intervals)" -le 14'

  # Log, replay, static placement: by the command, with addresses that come back.
  name=record begun=$SECONDS status=0
  "$smalloc" numa record -o log --source clock --interval 0.5 --conf numa_clock:250,numa_reserve:8m -- "$walker" far thp 8 20 1:2048 >out 2>err || status=$?
  expect '"$(on 1)" = 2048' '"$(ended superpages)" -ge 4'
  cp log recorded.log
  name=replay begun=$SECONDS status=0
  "$smalloc" numa replay recorded.log -o log -- "$walker" far thp 8 20 1:2048 >out 2>err || status=$?
  expect '"$(on 1)" = 2048' '"$(ended replay_done)" -ge 4' '"$(ended samples)" = 0'
  name=static begun=$SECONDS status=0
  "$smalloc" numa replay --static recorded.log -o log -- "$walker" idle thp 8 20 1:2048 >out 2>err || status=$?
  expect '"$(on 1)" = 2048' '"$(ended samples)" = 0'

  # The other sources.
  name=no_pmu begun=$SECONDS status=0
  walk no_pmu "numa:migrate,numa_source:pmu" far base 2 0.5
  if [ "$status" = 0 ] && [ "$(grep -c '^smalloc: warning: numa (source): ' err)" = 1 ]; then good; else bad "no line about it"; fi
  if [ -x "$build/tests/numa_walker_told" ]; then
    walker=$build/tests/numa_walker_told
    walk instrumented "numa:migrate,numa_source:instrumented,numa_sample:64,numa_interval:0.5,numa_reserve:8m,numa_log:log" far base 4 20 1:1000
    expect '"$(on 1)" -ge 1000' '"$(ended samples)" -ge 1000'
    walker=$build/tests/numa_walker
  fi
else
  # Each node its own quarter.
  walk quarters "$fast,numa_log:log,numa_interval:1" parts thp 16 12
  expect '"$(on 0)" = 1024' '"$(on 1)" = 1024' '"$(on 2)" = 1024' '"$(on 3)" = 1024'
fi

# --- Hints at birth: one object, touched by node 0 alone. ---
# hint VALUE CONDITION...
hint() {
  name="hint_${1//[:,]/_}" begun=$SECONDS status=0
  python3 - "$programs/sites.json" "$1" >hints.directives <<'PYTHON'
import json, sys
print("# smalloc.directives/1")
page, _, value = sys.argv[2].partition(",")
for s in json.load(open(sys.argv[1]))["sites"]:
    print(f"{s['id']} page={page} rank=1 pmb=100.0 superpages=8 numa={value}")
PYTHON
  shift
  timeout 60 env SMALLOC_CONF=directives:hints.directives "$programs/placed" 16 >out 2>err || status=$?
  expect "$@"
}
if [ -e "$programs/placed" ]; then
  hint 2m,- '"$(on 0)" -ge 4090'
  hint 2m,preferred:1 '"$(on 1)" -ge 4090'
  hint base,preferred:1 '"$(on 1)" -ge 4090' '"$(word first)" = 1'
  share=$((4096 / nodes))
  for value in interleave weighted partition; do
    conditions=()
    for ((n = 0; n < nodes; n++)); do
      conditions+=("\"\$(on $n)\" -ge $((share - 514))" "\"\$(on $n)\" -le $((share + 514))")
    done
    [ $value != partition ] || conditions+=('"$(word first)" = 0' "\"\$(word last)\" = $last")
    hint "2m,$value" "${conditions[@]}"
  done
  hint base,partition '"$(word first)" = 0' "\"\$(word last)\" = $last"
  name=hints_off begun=$SECONDS status=0
  SMALLOC_CONF=directives:hints.directives,numa:off timeout 60 "$programs/placed" 16 >out 2>err || status=$?
  expect '"$(on 0)" -ge 4090'
  name=compiler_partition begun=$SECONDS status=0
  timeout 60 "$programs/divided" 16 >out 2>err || status=$?
  expect '"$(word first)" = 0' "\"\$(word last)\" = $last" "\"\$(on $last)\" -ge $((share - 514))"
fi

name="topology of $nodes nodes" begun=$SECONDS
"$smalloc" numa topology --json >out 2>err && python3 - "$nodes" <<'PYTHON' && good || bad "see above"
import json, sys
d, n = json.load(open("out")), int(sys.argv[1])
assert d["totals"]["nodes"] == n and d["distance"][0] == [10] + [25] * (n - 1), d
assert all(len(x["cpus"]) == 1 and x["memory_bytes"] > 3e8 and x["free_bytes"] > 1e8 for x in d["nodes"]), d
PYTHON
if [ "$nodes" = 2 ]; then
  name=page_mover begun=$SECONDS
  "$build/tests/numa_test" --gtest_filter='PageMoverTest.*' >out 2>err && grep -q 'OK . PageMoverTest.MovesBetweenNodesOfThisMachine' out && good || bad "see above"
fi
[ "$failures" = 0 ]
