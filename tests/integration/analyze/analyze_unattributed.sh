#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Memory that a program gets directly from the kernel belongs to no site. If it has many accesses,
# one line says how many; otherwise there is no line.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
cat >arena.c <<'C'
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
enum { kBytes = 8 << 20 };
static volatile unsigned char *from_kernel(void) {
  return (unsigned char *)syscall(SYS_mmap, NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
int main(int argc, char **argv) {
  volatile unsigned char *arena = from_kernel(), *own = malloc(kBytes);
  const unsigned n = atoi(argv[1]);
  for (unsigned i = 0, x = 1; i < 400000; i++) {
    x = x * 1664525 + 1013904223;
    (i % 100 < n ? arena : own)[x % kBytes] += i;
  }
  return argc > 2;
}
C
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate arena.c -o arena
for share in 40 1; do
  expect_status 0 "$SMALLOC" record -q --rate 1 -o $share.trace -- ./arena $share
  expect_status 0 "$SMALLOC" analyze --no-db --machine zen3 $share.trace
  cp err $share.err
done
expect_match 40.err '^smalloc: note: (39|40|41) % of the accesses of 40.trace are to memory without a site'
expect_no_match 1.err 'without a site'
