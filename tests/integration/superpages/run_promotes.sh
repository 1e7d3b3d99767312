#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program without the plugin that never allocates again still gets superpages under `smalloc run`,
# from a helper thread. The thread ends when nothing is left to do. Its children have no such
# thread, and with promote:calls the process has none.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
need_thp
cat >walk.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static long field(const char *file, const char *name) {
  static char text[1 << 16];
  FILE *f = fopen(file, "r");
  size_t n = fread(text, 1, sizeof text - 1, f);
  fclose(f);
  text[n] = 0;
  char *at = strstr(text, name);
  return at ? atol(at + strlen(name)) : -1;
}
int main(int argc, char **argv) {
  size_t n = (size_t)48 << 20;
  unsigned long *a = malloc(n), x = 1, s = 0;
  static char buffer[1 << 16];
  setvbuf(stdout, buffer, _IOFBF, sizeof buffer); /* so that it never allocates again */
  for (size_t i = 0; i < n / 8; i++)
    a[i] = i;
  long huge = 0, threads = 0, wanted = argc > 1 ? 0 : 40000;
  for (int rounds = 0; rounds < (wanted ? 600 : 60); rounds++) {
    for (int i = 0; i < 3000000; i++) {
      x = x * 6364136223846793005ul + 1442695040888963407ul;
      s += a[(x >> 20) % (n / 8)];
    }
    long now = field("/proc/self/status", "Threads:");
    threads = now > threads ? now : threads;
    huge = field("/proc/self/smaps_rollup", "AnonHugePages:");
    if (huge > wanted && (wanted || rounds > 10))
      break;
  }
  /* The program continues: the cost of superpages is weighed against its computing time. */
  for (int i = 0; i < 600 && field("/proc/self/status", "Threads:") > 1; i++) {
    for (int k = 0; k < 3000000; k++) {
      x = x * 6364136223846793005ul + 1442695040888963407ul;
      s += a[(x >> 20) % (n / 8)];
    }
    nanosleep(&(struct timespec){0, 10000000}, NULL);
  }
  long after = field("/proc/self/status", "Threads:");
  pid_t child = fork();
  if (child == 0)
    _exit(field("/proc/self/status", "Threads:") != 1);
  int status;
  waitpid(child, &status, 0);
  for (size_t i = 0; i < n / 8; i++)
    if (a[i] != i)
      return 3;
  printf("huge %d threads %ld after %ld child %d\n", huge > wanted, threads, after, status);
  return s == 0;
}
C
"$CLANG" -O2 walk.c -o walk
expect_status 0 timeout 300 "$SMALLOC" run -- ./walk
expect_match out '^huge 1 threads 2 after 1 child 0$'
expect_status 0 timeout 100 env SMALLOC_CONF=promote:calls "$SMALLOC" run -- ./walk calls
expect_match out '^huge [01] threads 1 after 1 child 0$'

# The same if everything is requested on superpages: a part that the budget refuses at first touch
# is promoted by the thread.
expect_status 0 timeout 300 env SMALLOC_CONF=promote:thread "$SMALLOC" run --heap superpage --budget 44m -- ./walk
expect_match out '^huge 1 threads 2 '

# A system without a free thread: the program's calls continue, and its errno stays.
cat >refuse.c <<'C'
#include <errno.h>
#include <pthread.h>
int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *p) { return EAGAIN; }
int clone(int (*f)(void *), void *stack, int flags, void *p, ...) { errno = EAGAIN; return -1; }
C
"${CC:-cc}" -shared -fPIC -O1 -w refuse.c -o refuse.so
expect_status 0 timeout 100 env LD_PRELOAD="$tmp/refuse.so" SMALLOC_CONF=populate:always,promote:thread "$SMALLOC" run -- ./walk calls
expect_match out '^huge [01] threads 1 after 1 child 0$'

# A sleeping program with pending work is not woken repeatedly.
build sleeper <<'C'
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static long wakes(void) { /* of all threads except this one */
  DIR *tasks = opendir("/proc/self/task");
  long sum = 0;
  for (struct dirent *e; (e = readdir(tasks));) {
    char path[300], text[4096];
    if (e->d_name[0] == '.' || atol(e->d_name) == getpid())
      continue;
    snprintf(path, sizeof path, "/proc/self/task/%s/status", e->d_name);
    FILE *f = fopen(path, "r");
    text[f ? fread(text, 1, sizeof text - 1, f) : 0] = 0;
    char *at = strstr(text, "voluntary_ctxt_switches:");
    sum += at ? atol(at + 24) : 0;
    if (f)
      fclose(f);
  }
  closedir(tasks);
  return sum;
}
/* A second thread, or its work. */
static int is_promoted(void) {
  char text[4096];
  FILE *f = fopen("/proc/self/smaps_rollup", "r");
  text[f ? fread(text, 1, sizeof text - 1, f) : 0] = 0;
  if (f)
    fclose(f);
  const char *huge = strstr(text, "AnonHugePages:");
  return wakes() > 0 || (huge && atol(huge + 14) > 0);
}
int main(void) {
  size_t n = (size_t)480 << 20;
  char *p = malloc(n);
  memset(p, 1, n);
  int begun = 0;
  for (int i = 0; i < 200; i++) {
    begun |= is_promoted();
    nanosleep(&(struct timespec){0, 10000000}, NULL);
  }
  /* As soon as no work is left, however long that takes. */
  long woken = 0;
  for (int second = 0; second < 60; second++) {
    long before = wakes();
    nanosleep(&(struct timespec){1, 0}, NULL);
    woken = wakes() - before;
    if (woken <= 5)
      break;
  }
  printf("wakes %ld\nbegun %d\n", woken, begun);
  return p[n / 2] - 1;
}
C
expect_status 0 "$SMALLOC" run -- ./sleeper
expect_match out '^begun 1$' # otherwise nothing would wake it
[ "$(sed -n 's/^wakes //p' out)" -le 5 ] || fail "a sleeping program is woken: $(cat out) a second"
