#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# program:static and program:text put static arrays and code on superpages. Contents, addresses, stack traces
# and exceptions stay the same. No memory is ever both writable and executable. Without the keys
# nothing changes. A kernel without support is reported.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
need_thp
build t.cpp -w -rdynamic -fno-toplevel-reorder <<'E'
#include "runtime_sites.h"
#include <dlfcn.h>
#include <execinfo.h>
static char zeroes[16 * MIB];
struct Filled { unsigned front[3], rest[2 * MIB - 4], last; };
static Filled values = {{1, 2, 3}, {}, 7};
#define filled ((unsigned *)&values)
asm(".text\n.globl before\nbefore:\n.fill 5242880, 1, 0x90\nmov $42, %eax\nret\n");
extern "C" int before(void);
extern "C" __attribute__((noinline)) void middle(int n) {
  void *frames[16];
  int count = backtrace(frames, 16), seen = 0;
  for (int i = 0; i < count; i++) {
    Dl_info info;
    if (dladdr(frames[i], &info) && info.dli_sname)
      seen |= strcmp(info.dli_sname, "middle") == 0 ? 1 : strcmp(info.dli_sname, "main") == 0 ? 2 : 0;
  }
  CHECK(seen == 3);
  if (n) throw n;
}
asm(".text\n.fill 5242880, 1, 0x90\n");
int main(int argc, char **argv) {
  int want_static = atoi(argv[1]), want_text = atoi(argv[2]);
  filled[1000000] = 5;
  memset(zeroes, 1, sizeof zeroes);
  CHECK(filled[0] == 1 && filled[2] == 3 && filled[8 * MIB / 4 - 1] == 7 && filled[1000000] == 5);
  int caught = 0;
  try { middle(9); } catch (int n) { caught = n; }
  CHECK(caught == 9 && before() == 42);
  size_t bss = smaps(zeroes, sizeof zeroes, "AnonHugePages:");
  size_t data = smaps(filled, sizeof values, "AnonHugePages:");
  size_t text = smaps((void *)middle, 1, "AnonHugePages:") + smaps((void *)middle, 1, "FilePmdMapped:");
  printf("bss %zu data %zu text %zu\n", bss >> 20, data >> 20, text >> 20);
  CHECK(want_static ? bss >= 12 * MIB && data >= 4 * MIB : data == 0);
  CHECK(want_text ? text >= 4 * MIB : text == 0);
  FILE *f = fopen("/proc/self/maps", "r");
  char line[512], permissions[8];
  while (fgets(line, sizeof line, f))
    CHECK(sscanf(line, "%*s %7s", permissions) != 1 || !strchr(permissions, 'w') || !strchr(permissions, 'x'));
  return puts("done") < 0;
}
E

try() { # CONF STATIC TEXT
  SMALLOC_CONF=$1 expect_status 0 ours ./t "$2" "$3"
  expect_match out '^done$'
}
[ "$(thp_mode)" = always ] || try "" 0 0
try program:static 1 0
[ ! -s err ] || fail "program:static prints"
try program:text 0 1
[ ! -s err ] || fail "program:text prints"
try program:static+text,stats:exit 1 1
expect_no_match err 'warning'
SMALLOC_CONF=program:static+text,stats:json,stats_file:$PWD/s.json expect_status 0 ours ./t 1 1
expect_match s.json '"static_superpages":1[0-9]'
expect_match s.json '"text_superpages":[45]'
# The budget limits both together.
SMALLOC_CONF=program:static+text,budget:4m,stats:json,stats_file:$PWD/b.json ours ./t 0 0 >out 2>err || true
python3 -c 'import json; c = json.load(open("b.json"))["counters"]; assert 0 < c["static_superpages"] + c["text_superpages"] <= 2, c' || fail "beyond the budget"
# Programs with small data and code are left unchanged, without a message.
SMALLOC_CONF=program:static+text expect_status 0 ours /bin/true
[ ! -s err ] || fail "prints about a small program"
# Never writable and executable, at any moment.
if strace -o /dev/null true 2>/dev/null; then
  SMALLOC_CONF=program:static+text LD_PRELOAD=$LIB strace -f -o trace -e trace=mmap,mprotect,pkey_mprotect,mremap ./t 1 1 >/dev/null
  expect_no_match trace 'PROT_WRITE\|PROT_EXEC'
  expect_match trace 'mremap'
fi
# A kernel without THP: one line, and the program runs.
mkdir -p sys/kernel/mm/transparent_hugepage
echo 'always madvise [never]' >sys/kernel/mm/transparent_hugepage/enabled
SMALLOC_CONF=program:static+text,sysfs:$PWD/sys ours ./t 0 0 >out 2>err || fail "the program fails"
[ "$(wc -l <err)" = 1 ] || fail "not one line: $(cat err)"
expect_match err '^smalloc: warning: program: transparent huge pages are switched off \(echo madvise'
