# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A migrator without work wakes rarely. The kernel schedules its two threads five times a second and
# once an interval, whatever memory the program has, and they find nothing to do. (The promise is
# 0.5 % of a core, so 1 ms a wake-up; benchmarks/numa/live_overhead.py measures the cost of one.)
. "$(dirname "$0")/../support/lib.sh"
walker=$SMALLOC_BUILD/tests/numa_walker
[ -x "$walker" ] || fail "numa_walker is not built"
. "$SMALLOC_SOURCE/tests/integration/fixtures/two_nodes.bash"

SMALLOC_CONF="numa:migrate,sysfs:$tmp/sys,numa_interval:1,numa_log:log" LD_PRELOAD=$PRELOAD "$walker" idle base 64 60 >out 2>err &
pid=$!
trap 'kill $pid 2>/dev/null || true; rm -rf "$tmp"' EXIT
# Hundredths of a second since the system's start.
now() { awk '{ print int($1 * 100) }' /proc/uptime; }
# wakes NAME: prints how often the thread of this name went to sleep by itself.
wakes() { grep -lx "$1" /proc/$pid/task/*/comm | sed 's/comm$/status/' | xargs awk '/^voluntary_ctxt_switches/ { print $2 }'; }
lines() { grep -c "^interval=" log 2>/dev/null || true; }
until [ "$(lines)" -ge 1 ]; do # the memory has been touched, and both threads run
  kill -0 $pid || { cat err; fail "it ended"; }
  sleep 0.2
done
from=$(now) counts=$(wakes smalloc-count) migrates=$(wakes smalloc-migrate)
sleep 3
counts=$(($(wakes smalloc-count) - counts)) migrates=$(($(wakes smalloc-migrate) - migrates))
hundredths=$(($(now) - from + 1))
echo "in $hundredths hundredths of a second: counted $counts times, looked for moves $migrates times"
# One more for each: the first may have been due at once. Two for the lock between them.
[ "$counts" -le $((hundredths * 5 / 100 + 3)) ] || fail "the profiler woke $counts times"
[ "$migrates" -le $((hundredths / 100 + 3)) ] || fail "the migrator woke $migrates times"
[ "$counts" -ge 1 ] || fail "the profiler does not run"
# After the first interval, in which the program touched its memory, they found nothing to examine.
awk '/^interval=/ && ++n > 1 { for (i = 1; i <= NF; i++) { split($i, a, "="); if (a[1] == "planned" && a[2] > 0) bad = 1 } } END { exit bad }' log ||
  { cat log; fail "moves were planned for memory that nobody uses"; }
