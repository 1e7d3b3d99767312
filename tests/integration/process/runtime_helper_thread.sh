#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The helper thread of libsmalloc is unknown to the C library, so a program without threads of its
# own takes no locks in getc() or in copies of std::shared_ptr. The thread ends before the program
# changes its credentials, and a later one has the new ones. Where it has to call the C library's
# malloc, it is a thread that the C library knows.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
need_thp
case $(uname -m) in x86_64) ;; *) skip "the thread comes from pthread_create on this processor" ;; esac
build t <<'E'
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
extern char __libc_single_threaded;
static void rest(void) { nanosleep(&(struct timespec){0, 1000000}, NULL); }
/* The helper's number, 0 if there is none; with its user if asked. */
static int helper(unsigned *user) {
  DIR *tasks = opendir("/proc/self/task");
  int found = 0;
  for (struct dirent *e; (e = readdir(tasks));) {
    char path[300], text[4096];
    if (e->d_name[0] == '.' || atoi(e->d_name) == getpid())
      continue;
    snprintf(path, sizeof path, "/proc/self/task/%s/status", e->d_name);
    FILE *f = fopen(path, "r");
    if (!f)
      continue;
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    if (!strncmp(text, "Name:\tsmalloc\n", 14) && !strstr(text, "State:\tX") && !strstr(text, "State:\tZ")) {
      found = atoi(e->d_name);
      if (user)
        sscanf(strstr(text, "Uid:"), "Uid: %u", user);
    }
  }
  closedir(tasks);
  return found;
}
/* Fills new objects, which a helper follows: freed ones would keep their superpages. */
static int started(unsigned *user) {
  enum { kBytes = 40 << 20 };
  for (int i = 0; i < 4; i++) {
    volatile char *p = malloc(kBytes);
    for (int k = 0; k < 20; k++, rest()) {
      memset((char *)p + kBytes / 20 * k, 1, kBytes / 20);
      const int tid = helper(user);
      if (tid)
        return tid;
    }
  }
  return 0;
}
/* Malloc's heap of 32 MiB and more: the helper gives its free top back by free(), so the C library
   must know the thread. */
static void rows_in_mallocs_heap(void) {
  enum { kRows = 3000, kRowBytes = 40000 };
  static char *rows[kRows];
  const int before = started(NULL), alone = __libc_single_threaded;
  for (int i = 0; i < kRows; i++)
    memset(rows[i] = malloc(kRowBytes), 1, kRowBytes);
  for (int k = 0; k < 1000 && __libc_single_threaded; k++, rest())
    for (int i = 0; i < 30; i++) {
      free(rows[i]);
      rows[i] = malloc(kRowBytes);
    }
  const int now = helper(NULL);
  printf("rows: helper before %d now %d same %d single-threaded before %d now %d\n", before != 0, now != 0,
         now == before, alone, __libc_single_threaded);
}
static void *thread(void *unused) { return unused; }
int main(int argc, char **argv) {
  unsigned user = 1;
  if (argc > 1 && !strcmp(argv[1], "front")) {
    const int there = started(NULL) != 0;
    printf("in front: helper %d single-threaded %d\n", there, __libc_single_threaded);
    return 0;
  }
  if (argc > 1 && !strcmp(argv[1], "limit")) {
    const struct rlimit one = {1, 1};
    if (setrlimit(RLIMIT_NPROC, &one) || (getuid() == 0 && setuid(65534))) /* root has no limit */
      return 1;
    const int there = started(NULL) != 0;
    printf("limit: helper %d single-threaded %d\n", there, __libc_single_threaded);
    return 0;
  }
  if (argc > 1 && !strcmp(argv[1], "sparse")) {
    /* A small process with a large object: small requests ask for the process' size. */
    enum { kPages = 256 };
    volatile char *p = malloc((size_t)kPages << 20);
    for (int i = 0; i < kPages; i++)
      p[i * 4096] = 1;
    int there = 0;
    for (int k = 0; k < 100 && !there; k++, rest())
      there = helper(NULL);
    for (int i = 0; i < 4000; i++) {
      char *volatile small = malloc(1000);
      free(small);
    }
    const int result = setuid(getuid());
    printf("sparse: helper before %d setuid %d after %d\n", there != 0, result, there && helper(NULL) == there);
    return 0;
  }
  if (argc > 1 && !strcmp(argv[1], "namespace")) {
    /* Of a process with a second thread, the kernel refuses it (EINVAL). */
    int refused = 0;
    for (int k = 0; k < 500; k++) {
      const pid_t pid = fork();
      if (pid == 0) {
        memset(malloc(256u << 20), 1, 20 << 20);
        nanosleep(&(struct timespec){0, 1000000 + k * 37 % 5000 * 1000}, NULL);
        _exit(unshare(CLONE_NEWUSER) && errno == EINVAL);
      }
      int ended = -1;
      waitpid(pid, &ended, 0);
      refused += ended != 0;
    }
    printf("namespaces refused %d\n", refused);
    return 0;
  }
  int tid = started(&user);
  printf("helper %d single-threaded %d same user %d\n", tid != 0, __libc_single_threaded, user == getuid());

  /* A child has none, and gets one of its own. */
  pid_t child = fork();
  if (child == 0)
    _exit(helper(NULL) != 0 || started(NULL) == 0 || !__libc_single_threaded);
  int status = -1;
  waitpid(child, &status, 0);
  printf("child %d\n", status);

  /* The same user again: allowed to everybody. */
  tid = started(NULL);
  errno = EDOM;
  int result = setuid(getuid()), kept = errno == EDOM, after = helper(NULL);
  printf("setuid %d helper before %d after %d errno kept %d\n", result, tid != 0, after == tid, kept);

  tid = started(NULL);
  result = unshare(CLONE_FS | CLONE_FILES);
  printf("unshare %d helper before %d after %d\n", result, tid != 0, helper(NULL) == tid);

  /* The parent's helper is none of a vfork child's business; it may end. */
  tid = started(NULL);
  if (vfork() == 0) {
    setgid(getgid());
    _exit(0);
  }
  printf("vfork child\n");

  fflush(stdout);
  if ((child = fork()) == 0) {
    rows_in_mallocs_heap();
    fflush(stdout);
    _exit(0);
  }
  waitpid(child, &status, 0);

  /* A program with a thread changes the credentials of both. */
  tid = started(NULL);
  pthread_t t;
  if (pthread_create(&t, NULL, thread, NULL) || pthread_join(t, NULL))
    return 1;
  if (argc > 1) { /* as root */
    setgroups(0, NULL);
    result = setresuid(65534, 65534, 65534);
    after = helper(NULL);
    started(&user);
    printf("other user %d old helper %d new helper's user %u\n", result, after == tid, user);
  } else {
    printf("other user 0 old helper 0 new helper's user 65534\n");
  }
  return 0;
}
E
as=
[ "$(id -u)" = 0 ] && as=root
# shellcheck disable=SC2086 # no argument without root
SMALLOC_CONF=populate:always LD_PRELOAD=$PRELOAD expect_status 0 timeout 120 ./t $as
expect_match out '^helper 1 single-threaded 1 same user 1$'
expect_match out '^child 0$'
expect_match out '^setuid 0 helper before 1 after 0 errno kept 1$'
expect_match out '^unshare 0 helper before 1 after 0$'
expect_match out '^vfork child$'
expect_match out '^rows: helper before 1 now 1 same 0 single-threaded before 1 now 0$'
expect_match out '^other user 0 old helper 0 new helper.s user 65534$'

# A library that puts its function in front of the C library's may use thread-local storage that only
# a thread from pthread_create has.
cat >front.c <<'C'
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static __thread volatile int calls[1000];
#ifdef CLOCK
int clock_gettime(clockid_t clock, struct timespec *now) {
  calls[calls[0] % 1000]++;
  return syscall(SYS_clock_gettime, clock, now);
}
#else
int madvise(void *start, size_t bytes, int advice) {
  calls[calls[0] % 1000]++;
  return syscall(SYS_madvise, start, bytes, advice);
}
#endif
C
for what in CLOCK MADVISE; do
  "${CC:-cc}" -shared -fPIC -O1 -ftls-model=global-dynamic -D$what front.c -o front.so
  for first in "$tmp/front.so:$PRELOAD" "$PRELOAD:$tmp/front.so"; do
    SMALLOC_CONF=populate:always LD_PRELOAD=$first expect_status 0 timeout 120 ./t front
    expect_match out '^in front: helper 1 single-threaded 0$'
  done
done
SMALLOC_CONF=populate:always LD_PRELOAD=$PRELOAD expect_status 0 timeout 120 ./t front
expect_match out '^in front: helper 1 single-threaded 1$'

# Only a fork pauses the helper. A helper that were paused for good would not end.
SMALLOC_CONF=populate:always LD_PRELOAD=$PRELOAD expect_status 0 timeout 120 ./t sparse
expect_match out '^sparse: helper before 1 setuid 0 after 0$'

SMALLOC_CONF=populate:always LD_PRELOAD=$PRELOAD expect_status 0 timeout 120 ./t namespace
expect_match out '^namespaces refused 0$'

# Where the system has no thread, the program keeps what the C library does for one thread.
SMALLOC_CONF=populate:always LD_PRELOAD=$PRELOAD expect_status 0 timeout 120 ./t limit
expect_match out '^limit: helper 0 single-threaded 1$'
