#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# stats:exit prints the table and the busiest sites; without it nothing is printed.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
export SMALLOC_CONF=heap:guest,populate:always # beside the program's malloc
need_thp
build t <<'E'
#include "runtime_sites.h"
TEST_SITE(matrix, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
TEST_SITE(nodes, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
int main(void) {
  memset(site_malloc(&matrix, 64 * MIB), 1, 64 * MIB);
  for (int i = 0; i < 100000; i++) free(site_malloc(&nodes, 100));
  return 0;
}
E
expect_status 0 ours ./t
[ ! -s out ] && [ ! -s err ] || fail "something is printed without stats:exit"
SMALLOC_CONF=heap:guest,populate:always,stats:exit expect_status 0 ours ./t
[ ! -s out ] || fail "the table is on standard output"
for row in 'process: +[0-9]+ \(t\)' 'heaps: +running, strategy guest' 'big objects: +1 allocated, 1 live, 64\.' \
  'superpages: +32 now, peak 32' '  coverage: +(9[0-9]|100) % of 6[0-9]\.[0-9] MiB: big objects, superpages at first touch' \
  'this run: +64\.0 MiB on superpages, 16352 page faults and about 0\.0[0-9] s of first touches saved' \
  'coverage at the peak: +(9[0-9]|100) % of 6[0-9]\.[0-9] MiB' 'first-touch guard: +withheld nothing' \
  'superpages at first touch: +32, first-touch faults saved 16352' 'mappings: +[0-9]+ of libsmalloc' 'fallbacks to malloc: +0' \
  'site: +00000000000010[0-9a-f]{2} 64\.0 MiB requested, (64|65|66)\.[0-9] MiB live, peak 6[0-9]\.[0-9] MiB, 32 superpages, 6[0-9]\.[0-9] MiB of 6[0-9]\.[0-9] MiB got superpages, in matrix test\.c:[0-9]+' \
  'site: .* 9\.5 MiB requested, about 0 B live, peak [0-9.]+ (B|KiB), in nodes'; do
  expect_match err "^smalloc: $row"
done

# An end without destructors also counts.
build quick <<'E'
#include "runtime_sites.h"
TEST_SITE(matrix, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
int main(void) {
  memset(site_malloc(&matrix, 64 * MIB), 1, 64 * MIB);
  quick_exit(3);
}
E
SMALLOC_CONF=heap:guest,populate:always,stats:exit expect_status 3 ours ./quick
[ "$(grep -c 'process: ' err)" = 1 ] || fail "not one table at quick_exit: $(cat err)"
expect_match err '^smalloc: superpages: +32 now, peak 32'

# A program that closes foreign descriptors and opens its own files keeps these files unchanged. A
# limit of descriptors does not suppress the report.
build closes <<'EOF'
#include "runtime_sites.h"
#include <fcntl.h>
#include <sys/syscall.h>
TEST_SITE(matrix, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
int main(void) {
  memset(site_malloc(&matrix, 8 * MIB), 1, 8 * MIB);
  for (int fd = 3; fd < 1024; fd++) close(fd);
  for (int i = 0; i < 250; i++) {
    char name[32];
    sprintf(name, "data.%d", i);
    if (open(name, O_CREAT | O_RDWR, 0600) < 0) return 1;
  }
  return 0;
}
EOF
SMALLOC_CONF=heap:guest,populate:always,stats:exit expect_status 0 ours ./closes
[ -z "$(find . -maxdepth 1 -name 'data.*' -size +0)" ] || fail "the table is in the program's file"
(ulimit -n 150 && SMALLOC_CONF=heap:guest,populate:always,stats:exit ours ./quick 2>err) || true
expect_match err '^smalloc: superpages: +32 now, peak 32'

# jemalloc's own memory, a thread's cache, is no object.
# shellcheck disable=SC2046 # several words
build few $(linked) <<'E'
#include "runtime_sites.h"
TEST_SITE(nodes, SMALLOC_DECISION_SUPERPAGE, SMALLOC_SITE_SMALL, 0);
int main(void) {
  warm_up(&nodes);
  for (int i = 0; i < 66; i++) memset(site_malloc(&nodes, 48), 1, 48);
  CHECK(ours(site_malloc(&nodes, 48)));
  struct smalloc_statistics s = {sizeof s};
  smalloc_stats(&s);
  printf("%llu live in %llu\n", (unsigned long long)s.small_live_bytes, (unsigned long long)s.small_footprint_bytes);
  return !(s.small_live_bytes >= 66 * 48 && s.small_live_bytes <= s.small_footprint_bytes);
}
E
expect_status 0 ./few

# Commands of a script that never needed the heaps print nothing; the process that the user started
# says so.
cat >script <<'E'
#!/bin/bash
for i in 1 2 3; do /bin/true; done
./t
:
E
chmod +x script
SMALLOC_CONF=heap:guest,populate:always,stats:exit LD_PRELOAD=$LIB ./script 2>err
[ "$(grep -c 'heaps: ' err)" = 2 ] || { cat err; fail "not the script and its one busy child"; }
[ "$(grep -c 'heaps: *never needed' err)" = 1 ] || { cat err; fail "the script's own process is silent, or /bin/true is not"; }

# A file for each process; jemalloc's own report follows the table.
SMALLOC_CONF="populate:always,stats:exit+jemalloc,stats_file:$PWD/report.%p.%%" expect_status 0 ours ./t
[ ! -s err ] || fail "something on standard error"
ls report.*.% >/dev/null || fail "no report.PID.%"
[ "$(stat -c %a report.*)" = 600 ] || fail "others may read the report"
expect_match report.*.% 'heaps: +running'
expect_match report.*.% 'Begin jemalloc statistics'
SMALLOC_CONF=heap:guest,populate:always,stats:exit,stats_file:/nowhere/x expect_status 0 ours ./t
expect_match err 'smalloc: warning: SMALLOC_CONF: stats_file: cannot write /nowhere/x'
expect_match err 'heaps: +running'
SMALLOC_CONF=heap:guest,populate:always,stats:exit,stats_file:/dev/full expect_status 0 ours ./t
expect_match err 'stats_file: cannot write /dev/full \(No space left on device\); statistics are not complete$'
[ "$(wc -l <err)" = 1 ] || fail "more than a line: $(cat err)"

# A child that only inherits the heaps prints nothing; a child that uses them reports its own
# numbers.
build f <<'E'
#include "runtime_sites.h"
#include <sys/wait.h>
TEST_SITE(matrix, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
int main(void) {
  memset(site_malloc(&matrix, 8 * MIB), 1, 8 * MIB);
  for (int i = 0; i < 2; i++) {
    if (fork() == 0) {
      if (i) memset(site_malloc(&matrix, 4 * MIB), 1, 4 * MIB);
      exit(0);
    }
    wait(0);
  }
  return 0;
}
E
SMALLOC_CONF=heap:guest,populate:always,stats:exit expect_status 0 ours ./f
[ "$(grep -c 'heaps: ' err)" = 2 ] || { cat err; fail "not the parent and the busy child"; }
# The same for programs that are linked with the library and are no scripts: their children print
# nothing unless they are busy.
# shellcheck disable=SC2046 # several words
build starts $(linked) <<'E'
#include "runtime_sites.h"
#include <sys/wait.h>
#include <unistd.h>
TEST_SITE(matrix, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
int main(int argc, char **argv) {
  if (argc > 1) {
    if (argv[1][0] == 'b') memset(site_malloc(&matrix, 8 * MIB), 1, 8 * MIB);
    return 0;
  }
  for (int i = 0; i < 4; i++) {
    if (fork() == 0) execl(argv[0], argv[0], i == 2 ? "busy" : "idle", (char *)0);
    wait(0);
  }
  return 0;
}
E
SMALLOC_CONF=heap:guest,populate:always,stats:exit expect_status 0 ./starts
[ "$(grep -c 'heaps: ' err)" = 2 ] || { cat err; fail "not the linked parent and its one busy child"; }
# Subshells and commands with small heaps print nothing beside the script that started them. With a
# file each process writes its own.
cat >forks <<'E'
#!/bin/bash
for i in 1 2 3; do (x=$(printf '%s' "$i")); /bin/echo "$i" >/dev/null; done
:
E
chmod +x forks
SMALLOC_CONF=populate:always,stats:exit,heap:superpage LD_PRELOAD=$PRELOAD ./forks 2>err
[ "$(grep -c 'process: ' err)" = 1 ] || { cat err; fail "not the script's own process alone"; }
expect_match err 'process: +[0-9]+ \(bash\), started by '"$$"
mkdir own
SMALLOC_CONF="populate:always,stats:exit,heap:superpage,stats_file:$PWD/own/%p" LD_PRELOAD=$PRELOAD ./forks 2>err
[ ! -s err ] && [ "$(ls own | wc -l)" -ge 4 ] || { cat err; ls own; fail "not a file a process"; }
# A resized object stays with its site. A sampled object then stands for the added bytes as well. An
# object that reuses the slot of a freed sample is not charged for it. An object that becomes big is
# charged exactly.
build resized <<'E'
#include "runtime_sites.h"
TEST_SITE(first, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 512);
TEST_SITE(second, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 512);
TEST_SITE(grown, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 512);
enum { N = 500000 };
static void *object[N];
int main(void) {
  warm_up(&first), warm_up(&second), warm_up(&grown);
  for (int i = 0; i < N; i++) object[i] = site_malloc(&first, 64);
  for (int i = 0; i < N; i++) free(object[i]);
  for (int i = 0; i < N; i++) object[i] = site_malloc(&second, 64);
  for (int i = 0; i < N; i++) { object[i] = realloc(object[i], 128); CHECK(object[i]); }
  void *p = site_malloc(&grown, MIB);
  p = __smalloc_v1_realloc(p, 32 * MIB, &grown);
  CHECK(p && ours(p));
  return 0;
}
E
SMALLOC_CONF=heap:guest,stats:json,stats_file:resized.json expect_status 0 ours ./resized
python3 - resized.json <<'PY' || fail "resized objects: $(cat resized.json)"
import json, sys
sites = {}
for s in json.load(open(sys.argv[1]))["sites"]:
    sites[s.get("function")] = sites.get(s.get("function"), 0) + s["live_bytes"]
first, second, grown = (sites.get(name, 0) / 2**20 for name in ("first", "second", "grown"))
print(first, second, grown)
assert first < 6 and 40 < second < 90 and 31.9 < grown < 40, sites
PY

# A child's peaks are its own: they count although they are below its parent's peak.
build small_child $(linked) <<'E'
#include "runtime_sites.h"
#include <sys/wait.h>
TEST_SITE(nodes, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
enum { N = 60000 };
static void *object[N];
int main(void) {
  warm_up(&nodes);
  for (int i = 0; i < N; i++) object[i] = memset(site_malloc(&nodes, 1000), 1, 1000);
  for (int i = 0; i < N; i++) free(object[i]);
  smalloc_trim();
  if (fork() == 0) {
    for (int i = 0; i < N / 2; i++) memset(site_malloc(&nodes, 1000), 1, 1000);
    exit(0);
  }
  wait(NULL);
  return 0;
}
E
SMALLOC_CONF=heap:guest,stats:exit expect_status 0 ours ./small_child
[ "$(grep -c 'process: ' err)" = 2 ] || fail "the child says nothing: $(cat err)"

# The first rows describe the whole run, although all memory is freed at the end. The row of a site
# has its largest share on superpages, and the reason why it had no more. The function's name is
# demangled.
build names.cpp -Wl,--no-as-needed -lstdc++ <<'E'
#include "runtime_sites.h"
TEST_SITE(_ZN3web5cacheEi, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
TEST_SITE(plain, SMALLOC_DECISION_RUNTIME, 0, 512);
int main(void) {
  void *p[5];
  for (int i = 0; i < 5; i++) p[i] = memset(site_malloc(i < 4 ? &_ZN3web5cacheEi : &plain, 16 * MIB), 1, 16 * MIB);
  for (int i = 0; i < 5; i++) free(p[i]);
  return 0;
}
E
SMALLOC_CONF=heap:guest,populate:always,cache:0,promote:off,stats:exit expect_status 0 ours ./names
expect_match err '^smalloc: this run: +64\.0 MiB on superpages, 16352 page faults'
expect_match err '^smalloc: coverage at the peak: +(79|80|8[01]) % of (79|8[0-9])\.[0-9] MiB$'
expect_match err '^smalloc: site: .* 64\.0 MiB of 64\.0 MiB got superpages, in web::cache\(int\) test\.c:'
expect_match err '^smalloc: site: .* 0 B of 16\.0 MiB got superpages \(not more: none at first touch, and never filled enough for promotion\), in plain '
SMALLOC_CONF=heap:guest,populate:always,cache:0,promote:off,stats:exit,budget:20m expect_status 0 ours ./names
expect_match err '^smalloc: site: .* (1[68]|20)\.0 MiB of 64\.0 MiB got superpages \(not more: budget\), in web::cache'
