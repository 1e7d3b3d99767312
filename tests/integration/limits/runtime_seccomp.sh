#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# docs/containers.md lists all system calls. A program behind a filter that kills for any other
# call still runs, also if the filter applies to the helper thread, which started before. Every call
# that strace records in a program without a filter is in the list, and every call in the list is
# made by some program.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
sed -n '/<!-- calls:begin -->/,/<!-- calls:end -->/p' "$SMALLOC_SOURCE/docs/containers.md" | sed -n '/^| [^w]/p' >rows
[ "$(wc -l <rows)" = 7 ] || fail "the table of calls has other rows"
calls() { sed -n "$1p" rows | cut -d'|' -f3 | grep -oE '[a-z0-9_]+' | sort -u; }
{ # the calls for programs with a filter of their own
  for name in $(calls 1,5); do echo "#ifdef SYS_$name"; echo "SYS_$name,"; echo "#endif"; done
} >documented.inc
build t -fno-builtin <<'E'
#include "runtime_sites.h"
#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
TEST_SITE(table, SMALLOC_DECISION_RUNTIME, 0, 512);
TEST_SITE(hot, SMALLOC_DECISION_SUPERPAGE, SMALLOC_SITE_FULLY_INITIALISED, 0);
TEST_SITE(many, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
/* calls that this program and its threads make themselves */
static const int allowed[] = {SYS_getppid, SYS_write, SYS_exit, SYS_exit_group, SYS_rt_sigreturn, SYS_rt_sigaction, SYS_set_robust_list,
#ifdef SYS_rseq
  SYS_rseq,
#endif
#ifdef SYS_clone3
  SYS_clone3,
#endif
  SYS_clone,
#include "documented.inc"
};
static void *work(void *unused) {
  static struct smalloc_cell *const sites[] = {&table, &hot};
  for (int r = 0; r < 30; r++) {
    const size_t n = 20 * MIB;
    char *p = (char *)site_malloc(sites[r % 2], n);
    memset(p, 1, n), p = (char *)realloc(p, 2 * n), memset(p, 2, 2 * n), free(p);
    p = (char *)malloc(n), memset(p, 1, n), touching(p, 1 << 16), free(p);
  }
  char **kept = (char **)malloc(20000 * sizeof *kept);
  for (int i = 0; i < 20000; i++) kept[i] = (char *)memset(site_malloc(&many, 1 + i % 3000), 1, 1 + i % 3000);
  for (int i = 0; i < 20000; i++) free(kept[i]);
  free(kept);
  return unused;
}
int main(int argc, char **argv) {
  const int threads = atoi(argv[1]), filter = argc > 2;
  if (filter) {
    struct sock_filter f[256];
    int n = 0;
    f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
      f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0, 1);
      f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = {(unsigned short)n, f};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (argv[2][0] == 'a') { /* all threads: once the helper thread has started */
      char *p = (char *)malloc(80 * MIB);
      memset(p, 1, 20 * MIB);
      struct dirent **tasks;
      if (strstr(getenv("SMALLOC_CONF"), "promote:thread") && scandir("/proc/self/task", &tasks, NULL, NULL) < 4) return 3;
      if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program)) return 77;
      const clock_t end = clock() + CLOCKS_PER_SEC / 5; /* the helper thread notices a slow fill */
      for (size_t i = 20 * MIB; i < 80 * MIB && clock() < end; i += 4096) {
        p[i] = 1;
        for (volatile int t = 0; t < 10000; t++);
      }
      free(p);
    } else if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
      return 77;
    }
  }
  syscall(SYS_getppid); /* a mark in the trace */
  work(NULL);
  pthread_t thread[4];
  for (int i = 0; i < threads; i++) pthread_create(&thread[i], NULL, work, NULL);
  for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);
  syscall(SYS_getppid);
  _exit(0);
}
E
confs="heap:auto heap:superpage heap:guest heap:migrate heap:auto,pages:hugetlb heap:superpage,pages:1g heap:auto,pages:base heap:auto,promote:thread heap:superpage,budget:50% heap:auto,cache:0"
for conf in $confs; do
  for how in "0 one" "3 one" "0 all"; do
    status=0
    SMALLOC_CONF=$conf ours ./t $how >out 2>err || status=$?
    [ $status = 77 ] && skip "no seccomp filter may be installed"
    [ $status = 0 ] || { cat err; fail "$conf, more threads and who is filtered: $how: status $status (159: a call that is not listed)"; }
  done
done

command -v strace >/dev/null || skip "no strace: the list was not compared with a trace"
SMALLOC_CONF=heap:auto LD_PRELOAD=$LIB strace -f -o trace ./t 0 || skip "strace cannot trace here"
traced() { # only between the two marks, and calls that the kernel makes for them
  sed -E 's/^[0-9]+ +//' trace | awk '/^getppid\(/ {n++; next} n == 1' | sed -nE 's/^([a-z0-9_]+)\(.*/\1/p; s/^<\.\.\. ([a-z0-9_]+) resumed>.*/\1/p' | sort -u
}
: >all
for conf in $confs; do
  for threads in 0 3; do
    SMALLOC_CONF=$conf LD_PRELOAD=$LIB strace -f -o trace ./t $threads 2>/dev/null
    traced >>all
  done
done
strace -f -o trace ./t 3 # the C library's threads
traced >own
sort -u all >seen
calls 1,7 >listed
unlisted=$(comm -23 seen <(sort -u listed own))
[ -z "$unlisted" ] || fail "not in docs/containers.md: $unlisted"
# Whether these are called depends on the kernel, on chance, on libhugetlbfs, or on the C library
# (fstat or newfstatat).
never=$(comm -13 seen listed | grep -vxE 'fstat|newfstatat|pread64|sched_yield|clock_nanosleep|getdents64|lseek|uname|brk|getrandom|futex' || true)
[ -z "$never" ] || fail "in docs/containers.md, and never called: $never"
