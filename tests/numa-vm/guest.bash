#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# guest.bash: the checks in a guest of several nodes, as root. Each check prints one line "ok NAME"
# or "not ok NAME: WHY". The location of pages comes from the kernel (walker.c), never from smalloc.
# Nothing is timed: a check ends when an event has happened, and waits long for it.
#
#   guest.bash NODES BUILD PROGRAMS core|long
set -u
nodes=$1 build=$2 programs=$3 scope=$4
walker=$build/tests/numa_walker
smalloc=$build/bin/smalloc
preload=$build/lib/libsmalloc.so
last=$((nodes - 1))
cd "$(mktemp -d)" || exit 1
failures=0
bad() {
  echo "not ok $name: $*"
  { tail -3 out err; tail -8 log; } 2>/dev/null | sed 's/^/  | /'
  failures=$((failures + 1))
}
good() { echo "ok $name ($((SECONDS - begun)) s)"; }
long() { [ "$scope" = long ]; }
two() { [ "$nodes" = 2 ]; }

# Kernel balancing would move pages itself, and hide missing moves of libsmalloc.
echo 0 >/proc/sys/kernel/numa_balancing
echo always >/sys/kernel/mm/transparent_hugepage/enabled

# So that the kernel patches its code once, not for every program (walker.c).
coproc held { exec "$walker" hold; }
trap 'kill "$held_PID"' EXIT
read -r -u "${held[0]}"

# try NAME COMMAND...: runs COMMAND; status in $status, output in ./out ./err, the log in ./log.
try() {
  name=$1 begun=$SECONDS status=0
  shift
  rm -f log out err
  { timeout 100 "$@" >out 2>err; } 2>/dev/null || status=$?
}
# walk NAME CONF WALKER-ARGUMENT...
walk() {
  local check=$1 conf=$2
  shift 2
  try "$check" env LD_PRELOAD="$preload" SMALLOC_CONF="$conf" "$walker" "$@"
}
fast=numa:migrate,numa_source:clock,numa_interval:0.5,numa_reserve:8m,numa_log:log
most=90 # seconds that a walk waits for its end
# on NODE: prints the number of pages on it in the last report; word: prints another number of the
# report.
on() { awk -v n="$1" '/^pages/ { c = 0; for (i = 2; i <= NF; i++) if (split($i, a, ":") == 2 && a[1] == n) c = a[2] } END { print c + 0 }' out; }
word() { awk -v w="$1" '/^pages/ { for (i = 1; i < NF; i++) if ($i == w) v = $(i + 1) } END { print v + 0 }' out; }
# ended KEY: prints a number of the log's last line.
ended() { awk -v k="$1" '$1 == "end" { for (i = 2; i <= NF; i++) { split($i, a, "="); if (a[1] == k) v = a[2] } } END { print v + 0 }' log; }
# shortest KEY: prints the least value of KEY=VALUE in the log's intervals.
shortest() { awk -v k="$1" '/^interval=/ { for (i = 1; i <= NF; i++) { split($i, a, "="); if (a[1] == k && (!n++ || a[2] < v)) v = a[2] } } END { print v + 0 }' log; }
# expect CONDITION...: checks a shell condition, and prints it if it is false.
expect() {
  if [ "$status" != "${want:-0}" ]; then bad "status $status"; return; fi
  if [ "$(word wrong)" != 0 ]; then bad "contents changed"; return; fi
  local condition
  for condition in "$@"; do
    if ! eval "[ $condition ]"; then bad "$condition"; return; fi
  done
  good
}

# --- Without a setting nothing moves: serial first touch is remote, and the monitor outside sees
# it. ---
export WALKER_PHASES=1
walk untouched numa:off far base 4 1
expect '"$(on 0)" = 1024'

# --- Migration to the node that uses the pages, counted by the same monitor. ---
walk base_pages "$fast" far base 4 $most "$last:1000"
expect '"$(on $last)" -ge 1000' '"$(ended pages)" -ge 1000' '"$(ended not_allowed)" = 0'
walk superpages "$fast" far thp 16 $most "$last:4096"
expect '"$(on $last)" = 4096' '"$(word huge)" -ge 16384' '"$(ended superpages)" -ge 8' '"$(ended splits)" = 0'
unset WALKER_PHASES

if two; then
  # Each half of a superpage is used by another node: it is split, and half of it moves.
  walk split "$fast" halves thp 4 $most near:1000
  expect '"$(ended splits)" -ge 1' '"$(word near)" -ge 1000' '"$(on 1)" -ge 488' '"$(on 0)" -ge 488'
  # With too little memory on the target no page moves.
  walk full_target "$fast,numa_reserve:600m" far thp 8 $most - interval=:6
  expect '"$(on 1)" = 0' '"$(ended target_full)" -ge 1'

  # Ends of all kinds while pages move: when the first pages have moved, others still move.
  for how in exit:5 _exit:6 abort:134; do
    walk "ends_by_${how%:*}" "$fast,numa_interval:0.1" "${how%:*}" base 64 $most 1:300
    want=${how#*:}
    if [ "${how%:*}" = exit ]; then expect '"$(ended pages)" -ge 300'; else expect; fi
    want=0
  done

  # Log, replay, static placement: by the command, with addresses that are the same again.
  try record "$smalloc" numa record -o log --source clock --interval 0.5 --conf numa_reserve:8m -- "$walker" far thp 8 $most 1:2048
  expect '"$(on 1)" = 2048' '"$(ended superpages)" -ge 4'
  cp log recorded.log
  try replay "$smalloc" numa replay recorded.log -o log --interval 0.5 -- "$walker" far thp 8 $most 1:2048
  expect '"$(on 1)" = 2048' '"$(ended replay_done)" -ge 4' '"$(ended samples)" = 0'
  try static "$smalloc" numa replay --static recorded.log -o log -- "$walker" idle thp 8 $most 1:2048
  expect '"$(on 1)" = 2048' '"$(ended samples)" = 0'
else
  # Each node uses its own quarter.
  walk quarters "$fast,numa_interval:1" parts thp 16 $most near:4096
  expect '"$(word near)" = 4096' '"$(on 0)" = 1024' '"$(on 3)" = 1024'
fi

if two && long; then
  walk locked "$fast" far locked 4 $most 1:1000
  expect '"$(on 1)" -ge 1000'
  walk hugetlb "$fast" far hugetlb 16 $most 1:4096
  expect '"$(on 1)" = 4096' '"$(ended superpages)" -ge 8'
  walk shared "$fast" far shared 4 $most - interval=:6
  expect '"$(on 1)" = 0' '"$(ended shared)" -ge 100'
  walk objects_of_smalloc "$fast" far malloc 18 $most 1:3500
  expect '"$(on 1)" -ge 3500'
  # Two nodes use everything: half of it may move, for the balance.
  walk mixed "$fast" both thp 8 $most - interval=:6
  expect '"$(ended splits)" = 0' '"$(ended superpages)" -le 4' '"$(ended samples)" -ge 200'

  walk unmapped_meanwhile "$fast,numa_interval:0.1" unmap base 4 $most 1:900
  expect '"$(on 1)" -ge 900'
  walk thread_storm "$fast" storm base 2 $most 1:450
  expect '"$(on 1)" -ge 450'
  walk forks "$fast" fork base 4 $most 1:900
  expect '"$(on 1)" -ge 900'
  walk executes "$fast" exec far thp 8 $most 1:2048
  expect '"$(on 1)" = 2048'
  # Stopped and continued: the missed intervals do not follow in a burst.
  walk stopped_process "$fast" stop thp 8 $most 1:2048 interval=:6
  expect '"$(on 1)" = 2048' '"$(ended late)" -ge 1' '"$(shortest ms)" -ge 500'

  # The other sources.
  walk no_pmu "numa:migrate,numa_source:pmu" far base 2 0.5
  if [ "$status" = 0 ] && [ "$(grep -c '^smalloc: warning: numa (source): ' err)" = 1 ]; then good; else bad "no line about it"; fi
  told=numa:migrate,numa_source:instrumented,numa_sample:64,numa_interval:0.5,numa_reserve:8m,numa_log:log
  if [ -x "$build/tests/numa_walker_told" ]; then
    walker=$build/tests/numa_walker_told
    walk instrumented "$told" far base 4 $most 1:1000
    expect '"$(on 1)" -ge 1000' '"$(ended samples)" -ge 1000'
  fi
  if [ -x "$build/tests/numa_walker_profiled" ]; then
    try profile_generate "$smalloc" run --numa migrate --conf "$told" -- "$build/tests/numa_walker_profiled" far base 4 $most 1:1000
    expect '"$(on 1)" -ge 1000' '"$(ended samples)" -ge 1000' '"$(ls ./*.trace 2>/dev/null)" = ""'
  fi
  walker=$build/tests/numa_walker
fi

# --- Hints at first touch: one object, touched by node 0 alone. ---
# hint VALUE CONDITION...
hint() {
  python3 - "$programs/sites.json" "$1" >hints.directives <<'PYTHON'
import json, sys
print("# smalloc.directives/1")
page, _, value = sys.argv[2].partition(",")
for s in json.load(open(sys.argv[1]))["sites"]:
    print(f"{s['id']} page={page} rank=1 pmb=100.0 superpages=8 numa={value}")
PYTHON
  try "hint_${1//[:,]/_}" env SMALLOC_CONF=directives:hints.directives "$programs/placed" 16
  shift
  expect "$@"
}
# small HINT PAGE[,CONF] CONDITION...
small() {
  local hint=$1 page=${2%%,*} conf=${2#"${2%%,*}"}
  python3 - "$programs/small.json" "$hint" "$page" >small.directives <<'PYTHON'
import json, sys
print("# smalloc.directives/1")
for s in json.load(open(sys.argv[1]))["sites"]:
    print(f"{s['id']} page={sys.argv[3]} rank=1 pmb=100.0 superpages=8 numa={sys.argv[2]}")
PYTHON
  try "small_${hint//:/_}_${2//[:,]/_}" env SMALLOC_CONF="directives:small.directives$conf" "$programs/small"
  shift 2
  expect "$@"
}
if [ -e "$programs/placed" ]; then
  share=$((4096 / nodes))
  hint 2m,preferred:1 '"$(on 1)" -ge 4090'
  values=(partition)
  if long; then
    hint 2m,- '"$(on 0)" -ge 4090'
    hint 2m,preferred:0,1 '"$(on 0)" -ge 4090' # the nearest of them
    hint base,preferred:1 '"$(on 1)" -ge 4090' '"$(word first)" = 1'
    values=(interleave weighted partition)
  fi
  for value in "${values[@]}"; do
    conditions=()
    for ((n = 0; n < nodes; n++)); do
      conditions+=("\"\$(on $n)\" -ge $((share - 514))" "\"\$(on $n)\" -le $((share + 514))")
    done
    [ $value != partition ] || conditions+=('"$(word first)" = 0' "\"\$(word last)\" = $last")
    hint "2m,$value" "${conditions[@]}"
  done
  if long; then
    hint base,partition '"$(word first)" = 0' "\"\$(word last)\" = $last"
    try hints_off env SMALLOC_CONF=directives:hints.directives,numa:off "$programs/placed" 16
    expect '"$(on 0)" -ge 4090'
  fi
  # Small objects lie on the node of the requesting thread, or where the hint says, whichever thread
  # touches and frees them.
  all=$((nodes * 24000))
  small local 2m "\"\$(word own)\" -ge $((all - 100))" '"$(word again)" -ge 23900'
  small preferred:1 2m "\"\$(on 1)\" -ge $((all - 100))"
  if long; then
    small - 2m '"$(on 0)" -ge 20000' # malloc writes beside each object, so most lie on the requesting thread's node
    small partition base "\"\$(word own)\" -ge $((all - 100))" '"$(word again)" -ge 23900' '"$(word superpages)" = 0'
    small local base,promote:eager "\"\$(word own)\" -ge $((all - 100))" '"$(word superpages)" = 0'
    small local 2m,promote:eager "\"\$(word own)\" -ge $((all - 100))" '"$(word superpages)" -ge 2048'
    conditions=()
    for ((n = 0; n < nodes; n++)); do conditions+=("\"\$(on $n)\" -ge $((all / nodes * 2 / 3))"); done
    small interleave 2m "${conditions[@]}"
    small interleave base "${conditions[@]}"
    small weighted 2m "${conditions[@]}"
  fi
  try compiler_partition "$programs/divided" 16
  expect '"$(word first)" = 0' "\"\$(word last)\" = $last" "\"\$(on $last)\" -ge $((share - 514))"
fi

if long; then
  try "topology of $nodes nodes" "$smalloc" numa topology --json
  python3 - "$nodes" <<'PYTHON' && good || bad "see above"
import json, sys
d, n = json.load(open("out")), int(sys.argv[1])
assert d["totals"]["nodes"] == n and d["distance"][0] == [10] + [25] * (n - 1), d
assert all(len(x["cpus"]) == 1 and x["memory_bytes"] > 3e8 and x["free_bytes"] > 1e8 for x in d["nodes"]), d
PYTHON
  if two; then
    try page_mover "$build/tests/numa_test" --gtest_filter='PageMoverTest.*'
    grep -q 'OK . PageMoverTest.MovesBetweenNodesOfThisMachine' out && good || bad "see above"
  fi
fi
[ "$failures" = 0 ]
