#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Superpages that a fork has broken are made again once the child has ended: of big and of small
# objects, with and without calls of the allocator. While the child shares the memory nothing is
# copied. The statistics report both states.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
need_thp
[ "$(printf '%s\n' 6.7 "$(uname -r)" | sort -V | head -n 1)" = 6.7 ] || skip "before Linux 6.7 the kernel does not tell superpages from base pages"
cat >t.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static long field(const char *name) {
  char line[256];
  long kib = 0;
  FILE *f = fopen("/proc/self/smaps_rollup", "r");
  while (fgets(line, sizeof line, f))
    if (!strncmp(line, name, strlen(name)))
      kib = atol(line + strlen(name));
  fclose(f);
  return kib;
}
enum { kObject = 96 << 20, kSmall = 200, kCount = 400000 };
static char *big;
static char *small[kCount];
/* Writes to one base page of `every`. */
static void write_pages(long every) {
  for (long i = 0; big && i < kObject; i += 4096 * every)
    big[i]++;
  for (long i = 0; small[0] && i < kCount; i++)
    if ((long)small[i] / 4096 % every == 0)
      small[i][0]++;
}
int main(int argc, char **argv) {
  const int objects = atoi(argv[1]);
  if (objects & 1)
    memset(big = malloc(kObject), 1, kObject);
  for (long i = 0; objects & 2 && i < kCount; i++)
    memset(small[i] = malloc(kSmall), 1, kSmall);
  const long before = field("AnonHugePages:");
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  write_pages(4); /* breaks each superpage, and leaves most of its pages to both processes */
  struct timespec moment = {0, 300000000};
  nanosleep(&moment, NULL); /* rounds pass while the child shares */
  const long shared = field("AnonHugePages:");
  char line[64];
  snprintf(line, sizeof line, "/proc/%d/smaps_rollup", child);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  long after = 0;
  /* Computing earns the cost of the collapses; ends when they are done, or after a minute. */
  struct timespec now;
  do {
    for (int k = 0; k < 20; k++)
      write_pages(1);
    for (int k = 0; argc > 2 && k < 10000; k++)
      free(malloc(64));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    after = field("AnonHugePages:");
  } while (after < before * 9 / 10 && now.tv_sec < 60);
  printf("before %ld shared %ld after %ld\n", before / 1024, shared / 1024, after / 1024);
  return 0;
}
C
"$CLANG" -O1 -fno-builtin t.c -o plain
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-rewrite=all -fplugin-arg-smalloc-heap=superpage t.c "${LINK_LIBRARY[@]}" -o planned
check() { # MIB COMMAND...
  expect_status 0 "${@:2}"
  read -r _ before _ shared _ after <out
  [ "$before" -ge "$1" ] || skip "only $before MiB came about on this machine"
  [ "$shared" -le $((before / 4)) ] || fail "$shared of $before MiB on superpages while the child shares them: ${*:2}"
  [ "$after" -ge $((before * 9 / 10)) ] || { cat err >&2; fail "$after of $before MiB were made again: ${*:2}"; }
  expect_match err ' now, peak [0-9]+, [0-9]+ broken by a fork, [1-9][0-9]* made again$'
}
export SMALLOC_CONF=populate:always,stats:exit
check 80 ./planned 1
SMALLOC_CONF+=,heap:superpage
check 80 env LD_PRELOAD="$LIB" ./plain 1
check 60 env LD_PRELOAD="$LIB" ./plain 2
check 120 env LD_PRELOAD="$LIB" SMALLOC_CONF="$SMALLOC_CONF,promote:calls" ./plain 3 calls
# Superpages that stay broken do not count as superpages.
cat >left.c <<'C'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void) {
  char *p = malloc(96 << 20);
  memset(p, 1, 96 << 20);
  if (fork() == 0) {
    alarm(20);
    pause();
  }
  memset(p, 2, 48 << 20);
  return 0;
}
C
"$CLANG" -O1 -fno-builtin left.c -o left
expect_status 0 env LD_PRELOAD="$LIB" ./left
expect_match err 'superpages: +2[0-9] now, peak 4[0-9], 2[0-9] broken by a fork, [0-9]+ made again$'
now=$(sed -nE 's/^smalloc: superpages: +([0-9]+) now.*/\1/p' err)
expect_match err "superpages, says the kernel: +$((now * 2)).0 MiB of"
