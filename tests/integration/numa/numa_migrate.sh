# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# numa:migrate in a real process on any machine. A described system of two nodes (sysfs:DIR)
# replaces the missing node. So samples are taken, moves are planned, and the kernel's refusals are
# counted. tests/numa-vm tests real moves.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
walker=$SMALLOC_BUILD/tests/numa_walker
[ -x "$walker" ] || fail "numa_walker is not built"
ended() { awk -v k="$1" '$1 == "end" { for (i = 2; i <= NF; i++) { split($i, a, "="); if (a[1] == k) v = a[2] } } END { print v + 0 }' log; }

# A placement needs a log.
expect_status 0 env SMALLOC_CONF=numa:place LD_PRELOAD="$PRELOAD" "$walker" idle base 2 0.1
[ "$(wc -l <err)" = 1 ] || { cat err; fail "not one line"; }
expect_match err '^smalloc: warning: numa \(place\): set numa_replay:LOG, a log of numa_log; nothing is placed'

# Without a second node: one line, and the program runs as usual.
nodes=$(find /sys/devices/system/node -maxdepth 1 -name 'node[0-9]*' 2>/dev/null | wc -l)
if [ "$nodes" = 1 ]; then
  expect_status 0 "$SMALLOC" run --numa migrate -- "$walker" idle base 4 0.1
  [ "$(wc -l <err)" = 1 ] || { cat err; fail "not one line"; }
  expect_match err '^smalloc: warning: numa \(migrate\): this machine has one node, every access is local; nothing migrates'
  expect_match out ' wrong 0$'
fi

. "$SMALLOC_SOURCE/tests/integration/fixtures/two_nodes.bash"
conf="sysfs:$tmp/sys,numa_interval:0.5,stats:exit"
expect_status 0 "$SMALLOC" run --numa migrate --conf "$conf,numa_log:log" -- "$walker" far base 2 3
expect_match out ' wrong 0$'
expect_match log '^# smalloc.numa.log/1 pid=[0-9]+ source=(pmu|clock|faults|none|instrumented) stands_for=[0-9]+ interval_ms=500 nodes=0,1 '
expect_match log '^interval=1 '
expect_match log '^end intervals='
# For each interval, and for their sum.
awk '/^interval=/ { for (i = 1; i <= NF; i++) { split($i, a, "="); if (a[1] == "samples") sum = a[2]
      if (a[1] == "samples_by_node") { n = split(a[2], by, ","); for (k = 1; k <= n; k++) sum -= by[k] } }
    lines++; if (sum != 0) bad = 1 } END { exit bad || lines < 2 }' log || { cat log; fail "the nodes' samples are not the interval's"; }
expect_match err '^smalloc: numa: source '
if grep -q '^smalloc: warning: numa (source): ' err; then
  skip "this machine has no source of counts: $(grep -m1 'numa (source)' err)"
fi
[ "$(ended samples)" -ge 50 ] || { cat log; fail "hardly a sample"; }
if [ "$nodes" = 1 ] && grep -q 'source=clock' log; then
  [ "$(ended not_allowed)" -ge 1 ] || { cat log; fail "nothing was planned for the node that is not there"; }
  [ "$(ended pages)" = 0 ] || fail "pages moved to a node that is not there"
fi

# Children, executed programs, and ends of all kinds: as without libsmalloc.
expect_status 0 "$SMALLOC" run --numa migrate --conf "$conf" -- "$walker" fork base 2 2
expect_status 0 "$SMALLOC" run --numa migrate --conf "$conf" -- "$walker" exec far base 2 1
expect_status 6 "$SMALLOC" run --numa migrate --conf "$conf" -- "$walker" _exit base 2 0.6
expect_status 134 sh -c '"$@"; exit $?' sh "$SMALLOC" run --numa migrate --conf "$conf" -- "$walker" abort base 2 0.6
expect_status 0 "$SMALLOC" run --numa migrate --conf "$conf" -- "$walker" storm base 2 2
expect_status 0 env SMALLOC_CONF="numa:migrate,$conf" LD_PRELOAD="$PRELOAD" sh -c 'ls / | sort | wc -l'

# record and replay: the program's memory lies on the same nodes, although a replay counts nothing.
# Errors are reported.
lies_at() { sed -n 's/.* at \(0x[0-9a-f]*\) wrong 0$/\1/p;q' out; }
expect_status 0 "$SMALLOC" numa record -o r.log --interval 0.5 --conf "sysfs:$tmp/sys" -- "$walker" far base 2 1
expect_match r.log '^end '
at=$(lies_at)
for static in "" --static; do
  expect_status 0 "$SMALLOC" numa replay $static r.log -o log --conf "sysfs:$tmp/sys" --interval 0.5 -- "$walker" far base 2 1
  [ "$(ended samples)" = 0 ] || fail "a replay counts"
  if setarch -R true 2>/dev/null; then
    [ -n "$at" ] && [ "$(lies_at)" = "$at" ] || fail "memory at $(lies_at) instead of $at $static"
  fi
done
cat >moves.log <<LOG
# smalloc.numa.log/1 pid=1
move interval=1 address=0000000000001000 pages=1 from=0 to=0 action=page result=done
LOG
expect_status 0 "$SMALLOC" numa replay --static moves.log -o log --conf "sysfs:$tmp/sys" -- "$walker" idle base 2 0.5
[ "$(ended replay_moves)" = 1 ] && [ "$(ended replay_done)" = 0 ] || { cat log; fail "the page at 4096 is nobody's"; }
# Errors before the command runs have the command's own exit status, on a machine of one node, too.
expect_error 125 'cannot read the log \(none.log\): ' "$SMALLOC" numa replay none.log -- touch ran
expect_error 125 'no command to run' "$SMALLOC" numa record
expect_error 125 'interval' "$SMALLOC" numa record --interval 99 -- touch ran
echo nonsense >bad.log
: >empty.log
for log in bad empty; do
  expect_error 125 "cannot use the log \\($log.log\\): it does not begin with '# smalloc.numa.log/1'" "$SMALLOC" numa replay $log.log -- touch ran
done
[ ! -e ran ] || fail "the command ran"
expect_status 127 "$SMALLOC" numa record -o log -- ./nowhere
expect_status 7 "$SMALLOC" numa record -q -o log --conf "sysfs:$tmp/sys" -- sh -c 'exit 7'
if [ "$nodes" = 1 ]; then
  expect_status 0 "$SMALLOC" numa record -o 'r.%p.log' -- true
  expect_match err 'this machine has one node.* the log r\.[0-9]+\.log is not written'
fi
expect_status 0 env SMALLOC_CONF="numa:migrate,numa_replay:bad.log,sysfs:$tmp/sys" LD_PRELOAD="$PRELOAD" "$walker" idle base 2 0.1
expect_match err "smalloc: warning: numa \(.*bad.log\): it does not begin with '# smalloc.numa.log/1'"

# A program compiled with profile-generate passes its accesses to the migrator instead, for each
# page.
profiled=$SMALLOC_BUILD/tests/numa_walker_profiled
[ -x "$profiled" ] || skip "the plugin is not part of this build: no program with profile-generate"
told="sysfs:$tmp/sys,numa_interval:0.5,numa_source:instrumented,numa_sample:16,numa_log:log"
expect_status 0 "$SMALLOC" run --numa migrate --conf "$told" -- "$profiled" far base 4 20 - interval=:3
expect_match log '^# smalloc.numa.log/1 pid=[0-9]+ source=instrumented '
[ "$(ended samples)" -ge 5000 ] || { cat log; fail "the program does not tell"; }
[ -z "$(find . -name '*.trace')" ] || fail "a trace that nobody asked for"
# It also records if requested. It passes no accesses if another source is set.
expect_status 0 "$SMALLOC" run --numa migrate --conf "$told,trace:both.trace,rate:1" -- "$profiled" far base 2 20 - interval=:3
[ "$(ended samples)" -ge 1000 ] || fail "nothing is told while a trace is written"
expect_status 0 "$SMALLOC" trace show both.trace
expect_match out 'accesses'
