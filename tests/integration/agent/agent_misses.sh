# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A run's TLB miss counters reach its report and the history. Few virtual machines have a PMU. So a
# tracer replaces the event that libsmalloc opens by page faults, which every kernel counts; the
# rest of the path is unchanged.
. "$(dirname "$0")/../support/lib.sh"
unset SMALLOC_CONF
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
[ "$(uname -m)" = x86_64 ] || skip "the tracer knows x86-64 only"
export XDG_STATE_HOME=$tmp/state
write_gather
"$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-rewrite=all gather.c -o app "${LINK_LIBRARY[@]}"
cat >traced.c <<'C'
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int n, char **arguments) {
  if (n < 2)
    return 2;
  struct perf_event_attr faults = {.size = sizeof faults, .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS, .exclude_kernel = 1,
                                   .inherit = 1, .inherit_thread = 1};
  if (syscall(SYS_perf_event_open, &faults, 0, -1, -1, 0) < 0)
    return 77; // closed, or Linux before 5.13
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
      _exit(77);
    execvp(arguments[1], arguments + 1);
    _exit(127);
  }
  for (int status = 0, entering = 0;;) {
    if (waitpid(child, &status, 0) != child)
      return 2;
    if (WIFEXITED(status))
      return WEXITSTATUS(status);
    if (WIFSIGNALED(status))
      return 128 + WTERMSIG(status);
    const int call = WSTOPSIG(status) == (SIGTRAP | 0x80);
    struct user_regs_struct r;
    if (!call)
      ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACESYSGOOD);
    else if ((entering = !entering) && ptrace(PTRACE_GETREGS, child, NULL, &r) == 0 && r.orig_rax == SYS_perf_event_open) {
      uint64_t head[2];
      memcpy(head, &faults, sizeof head);
      ptrace(PTRACE_POKEDATA, child, r.rdi, head[0]);
      ptrace(PTRACE_POKEDATA, child, r.rdi + 8, head[1]);
    }
    ptrace(PTRACE_SYSCALL, child, NULL, call || WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status));
  }
}
C
"$CLANG" -O1 traced.c -o traced
status=0
./traced true || status=$?
[ $status != 77 ] || skip "the kernel counts no page faults here, or nobody may trace"
[ $status = 0 ] || fail "the tracer fails: $status"
SMALLOC_CONF=validate:on,heap:off expect_status 0 ./traced ./app
python3 - <<'PY' || fail "the report has no misses of its run"
import glob, json
(name,) = glob.glob("state/smalloc/runs/*.jsonl")
(run,) = [json.loads(line) for line in open(name) if line.strip()]
# Loads and stores are two events, and both count page faults here. Faults from before libsmalloc's
# start are not among them.
assert 16384 <= run["tlb_misses"] <= 2 * run["minor_faults"], run
PY
expect_status 0 "$SMALLOC" db show ./app
expect_match out '^TLB misses of a run, counted: [0-9.e+]+ on base pages, - with directives$'
