# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# smalloc numa top prints where a running process' memory lies. The end of the process is no
# failure; a process that does not exist is one.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
[ -r /proc/self/numa_maps ] || skip "the kernel has no /proc/PID/numa_maps"
cat >hold.c <<'C'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
int main(void) {
  char *p = mmap(0, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(p, 1, 64 << 20);
  puts("ready");
  fflush(stdout);
  return getchar() == 0;
}
C
"$CLANG" -O1 hold.c -o hold
mkfifo stop
exec 9<>stop
./hold <stop >ready 9>&- &
pid=$!
for _ in $(seq 100); do [ -s ready ] && break; sleep 0.1; done
expect_status 0 "$SMALLOC" numa top "$pid" --json
json_is out "d['schema'] == 'smalloc.numa.top/1' and d['pid'] == $pid"
json_is out "d['totals']['resident_bytes'] == sum(n['resident_bytes'] for n in d['nodes']) >= 64 << 20"
json_is out "d['mappings'][0]['what'] == 'anonymous' and d['mappings'][0]['resident_bytes'] >= 64 << 20"
expect_status 0 "$SMALLOC" numa top "$pid" --once
expect_match out '^NODE +RESIDENT'
expect_match out ' anonymous$'
expect_status 3 "$SMALLOC" numa top "$pid" --once --fail-if 'totals.resident_bytes > 1000'
"$SMALLOC" numa top "$pid" --every 0.1 >live 2>note &
top=$!
for _ in $(seq 600); do [ "$(grep -c '^process ' live)" -lt 2 ] || break; sleep 0.1; done
echo >&9
wait "$pid" || true
wait "$top" || fail "the end of the process is a failure"
expect_match note "process $pid has ended"
[ "$(grep -c '^process ' live)" -ge 2 ] || fail "the picture was taken once only"
expect_error 1 "cannot read the process \($pid\): there is no such process" "$SMALLOC" numa top "$pid"
expect_error 2 '' "$SMALLOC" numa top zero
