#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# If the system refuses what superpages need (madvise forbidden by a sandbox, no address space, no
# committed memory, no /proc and no /sys), the program still runs, its bytes are right, and one line
# names the reason.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
need_thp
build t <<'E'
#include "runtime_sites.h"
TEST_SITE(whole_at_once, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
TEST_SITE(later, SMALLOC_DECISION_RUNTIME, 0, 512);
TEST_SITE(small, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 0);
int main(int argc, char **argv) {
  static char *keep[3][12], *tiny[20000];
  char *volatile others = argc > 1 ? malloc(atol(argv[1]) * MIB) : NULL; /* memory of the program, under a limit */
  CHECK(argc < 2 || others);
  warm_up(&small);
  for (int i = 0; i < 12; i++) {
    keep[0][i] = (char *)site_malloc(&whole_at_once, 6 * MIB), keep[1][i] = (char *)site_malloc(&later, 6 * MIB);
    for (int k = 0; k < 2; k++) if (keep[k][i]) memset(keep[k][i], 1 + i, 6 * MIB);
    for (int n = 0; n < 100 && keep[1][i]; n++) touching(keep[1][i], 1000000);
  }
  for (int i = 0; i < 20000; i++) if ((tiny[i] = (char *)site_malloc(&small, 500))) memset(tiny[i], i % 100, 500);
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < 12; i++) for (size_t b = 0; keep[k][i] && b < 6 * MIB; b += 100) CHECK(keep[k][i][b] == 1 + i);
  for (int i = 0; i < 20000; i++) { CHECK(!tiny[i] || tiny[i][499] == i % 100); free(tiny[i]); }
  for (int i = 0; i < 12; i++) free(keep[0][i]), free(keep[1][i]);
  return puts("done") < 0;
}
E
build sandbox <<'E'
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv) { /* runs a command for which madvise is forbidden */
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {4, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 77;
  execv(argv[1], argv + 1);
  return 127;
}
E
one_line() { [ "$(grep -c 'smalloc: warning: ' err)" = 1 ] || { cat err; fail "$1: not exactly one line"; }; expect_match err "$2"; }
expect_status 0 ours ./t
expect_no_match err warning
status=0
LD_PRELOAD=$LIB ./sandbox ./t >out 2>err || status=$?
[ $status = 77 ] || { [ $status = 0 ] || fail "without madvise: status $status"; expect_match out '^done$'; one_line madvise 'refuses the call \(a sandbox\?\); base pages are used'; }
(ulimit -v 1000000; LD_PRELOAD=$LIB ./t >out 2>err) || fail "without address space: status $?"
one_line "ulimit -v" 'no address space for the superpage heaps'
(ulimit -d 150000; LD_PRELOAD=$LIB ./t >out 2>err) || fail "ulimit -d: status $?"
one_line "ulimit -d" "no room for the superpage heaps \(ulimit -d\); the program's malloc serves"
(ulimit -d 300000; LD_PRELOAD=$LIB ./t 150 >out 2>err) || fail "ulimit -d, nearly used up: status $?"
one_line "ulimit -d, nearly used up" "commits no more memory .*the program's malloc serves"
if unshare -m true 2>/dev/null; then
  LIB=$LIB expect_status 0 unshare -m sh -c 'umount -l /sys && umount -l /proc && LD_PRELOAD=$LIB exec ./t'
  one_line "no /proc, no /sys" '/sys cannot be read'
fi
