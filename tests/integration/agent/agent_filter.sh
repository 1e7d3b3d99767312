# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A reported run counts its TLB misses. Behind a seccomp filter that kills for perf_event_open, as
# systemd's filters do, libsmalloc does not make that call.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
export XDG_STATE_HOME=$tmp/state
write_gather
"$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-rewrite=all gather.c -o app "${LINK_LIBRARY[@]}"
cat >filtered.c <<'C'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int n, char **arguments) {
  struct sock_filter kill_who_asks[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof kill_who_asks / sizeof *kill_who_asks, kill_who_asks};
  if (n < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    return 77;
  if (arguments[1][0] == '-')
    return syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0) != 0;
  execvp(arguments[1], arguments + 1);
  return 127;
}
C
"$CLANG" -O1 filtered.c -o filtered
status=0
./filtered - || status=$?
[ $status != 77 ] || skip "no filter can be set here"
[ $status = 159 ] || fail "the filter does not kill: status $status" # SIGSYS
expect_status 0 env SMALLOC_CONF=validate:on ./filtered ./app
expect_status 0 env SMALLOC_CONF=validate:on ./app
lines=$(cat state/smalloc/runs/*.jsonl | grep -c '"schema":"smalloc.run/1"')
[ "$lines" = 2 ] || fail "$lines runs were reported"
