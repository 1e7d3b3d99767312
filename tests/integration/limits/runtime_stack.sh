#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# program:stack extends the main thread's stack where there is room, which takes a page of memory. If a
# limit of address space leaves no room, the stack stays unchanged.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
need_thp
build t <<'E'
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
static int deep(int n) {
  char frame[4096];
  memset(frame, n, sizeof frame);
  __asm__ volatile("" : : "r"(frame) : "memory");
  return n ? deep(n - 1) + frame[17] - (char)n : 0;
}
int main(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  printf("%ld KiB before, %d\n", u.ru_maxrss, deep(10000));
  return 0;
}
E
(ulimit -s 262144 && SMALLOC_CONF=program:stack ours ./t >out 2>err) || fail "status $?: $(cat err)"
[ ! -s err ] || fail "$(cat err)"
[ "$(cut -d' ' -f1 out)" -lt 20000 ] || fail "the stack takes memory before it is used: $(cat out)"
(ulimit -s unlimited && ulimit -v 150000 && SMALLOC_CONF=program:stack ours ./t >out 2>err) || fail "under a limit of address space: status $?"
expect_match err 'smalloc: warning: program: .*superpages refused, the last time: Cannot allocate memory'
