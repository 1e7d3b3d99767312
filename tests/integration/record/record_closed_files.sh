#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program that closes all descriptors, as daemons do, and changes its directory. Its own files get
# the trace's descriptor number and stay unchanged. The recording continues in its own file. A child
# of fork leaves its trace in the program's start folder.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
FEEDBACK=$SMALLOC_BUILD/lib/libsmalloc_feedback.so
[ -r "$FEEDBACK" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
cat >app.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
enum { kFiles = 260 };
static void allocate(int n) { /* several chunks */
  for (int i = 0; i < n; i++) {
    char *p = malloc(64 + i % 64);
    *(volatile char *)p = 1;
    free(p);
  }
}
int main(int argc, char **argv) {
  int fds[kFiles], files = argc > 1 ? atoi(argv[1]) : kFiles, bad = 0;
  allocate(50000);
  if (chdir("elsewhere") != 0)
    return 1;
  for (int fd = 3; fd < 1024; fd++)
    close(fd);
  for (int i = 0; i < files; i++) {
    char name[32];
    snprintf(name, sizeof name, "out%d", i);
    fds[i] = open(name, O_CREAT | O_TRUNC | O_RDWR, 0600);
    if (fds[i] < 0 || write(fds[i], "user data\n", 10) != 10)
      return 2;
  }
  allocate(50000);
  const pid_t child = fork();
  allocate(50000);
  for (int i = 0; i < files; i++) {
    struct stat info;
    bad += fstat(fds[i], &info) != 0 || info.st_size != 10;
  }
  if (child == 0)
    exit(bad != 0);
  int status = 1;
  if (bad || waitpid(child, &status, 0) != child || status)
    return 3;
  return 0;
}
C
"$CC" -O1 -fno-builtin app.c -o app || fail "the test program does not compile"
holds_allocations() { # FILE NUMBER
  expect_status 0 "$SMALLOC" trace show "$1" --json
  json_is out "d['events']['allocations'] >= $2"
}
for files in 260 14; do # the second with too few descriptors for a high number
  rm -rf elsewhere ./*.trace*
  mkdir elsewhere
  limit=4096
  [ $files = 260 ] || limit=20
  (ulimit -n $limit && SMALLOC_CONF=trace:run.trace LD_PRELOAD=$FEEDBACK ./app $files) 2>err || fail "$files files: exit status $?: $(cat err)"
  [ ! -s err ] || fail "said: $(cat err)"
  [ "$(find . -name '*.trace*' | sort | tr '\n' ' ' | sed 's/\.[0-9]* $/.PID /')" = "./run.trace ./run.trace.PID " ] || fail "traces: $(find . -name '*.trace*')"
  holds_allocations run.trace 150000
  holds_allocations run.trace.* 50000
done
# The recording's own file was removed meanwhile: reported once, and the program continues.
rm -rf elsewhere ./*.trace*
mkdir elsewhere
sed 's/int fds\[kFiles\]/unlink("run.trace"); &/' app.c >gone.c
"$CC" -O1 -fno-builtin gone.c -o app || fail "the test program does not compile"
SMALLOC_CONF=trace:run.trace LD_PRELOAD=$FEEDBACK ./app 2>err || fail "without its file: exit status $?: $(cat err)"
grep -q 'smalloc: warning: trace (run.trace): the program has closed the file, and it cannot be opened again; recording stopped' err || fail "not told: $(cat err)"
[ "$(wc -l <err)" = 1 ] || fail "told more than once: $(cat err)"
