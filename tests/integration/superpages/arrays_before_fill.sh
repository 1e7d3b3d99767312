#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Programs without the plugin whose resident memory is small when they request their arrays: the
# heaps start with the sum of what a program requests. Then arrays of a few MiB that come and go
# reuse their memory, which the program's malloc gives back each time.
. "$(dirname "$0")/../support/lib.sh"
need_thp
command -v "$CLANG" >/dev/null || skip "no $CLANG"
cat >arrays.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* arrays ROUNDS COUNT BYTES: requests COUNT arrays, fills them, frees them. */
int main(int argc, char **argv) {
  if (argc != 4) return 1;
  const int rounds = atoi(argv[1]), count = atoi(argv[2]);
  const size_t bytes = strtoul(argv[3], NULL, 10);
  char *volatile array[64];
  unsigned long faults = 0, sum = 0;
  for (int round = 0; round < rounds; round++) {
    for (int k = 0; k < count; k++)
      array[k] = malloc(bytes);
    for (int k = 0; k < count; k++)
      memset(array[k], round + k, bytes);
    for (int k = 0; k < count; k++) {
      sum = sum * 3 + (unsigned char)array[k][bytes / 2];
      free(array[k]);
    }
  }
  char name[16];
  FILE *f = fopen("/proc/self/stat", "r");
  if (!f || fscanf(f, "%*d (%15[^)]) %*c %*d %*d %*d %*d %*d %*u %lu", name, &faults) != 2) abort();
  fclose(f);
  fprintf(stderr, "faults %lu\n", faults);
  printf("%lu\n", sum);
  return 0;
}
C
"$CLANG" -O2 -fno-builtin arrays.c -o arrays || fail "does not compile"
# run ARGUMENTS: sets plain and faults, and leaves the statistics in `err`.
run() {
  ./arrays "$@" >want 2>err || fail "arrays $*: status $?"
  plain=$(sed -n 's/^faults //p' err)
  SMALLOC_CONF=populate:always,stats:exit LD_PRELOAD=$LIB ./arrays "$@" >got 2>err ||
    fail "arrays $*, with libsmalloc: status $?"
  cmp want got || fail "arrays $*: another output"
  faults=$(sed -n 's/^faults //p' err)
  echo "arrays $*: $faults page faults, plain $plain"
}
run 50 3 4300000
[ "$faults" -le $((plain / 6)) ] || fail "$faults page faults, plain $plain"
run 1 40 1000000 # 38 MiB, in requests that the program's malloc maps separately
grep -q 'heaps: *running' err || fail "the heaps did not start: $(cat err)"
run 1 3 1000000 # a small process keeps its malloc
grep -q 'heaps: *never needed' err || fail "the heaps started: $(cat err)"
run 1 3 2300000 # so does one with few big objects
grep -q 'heaps: *never needed' err || fail "the heaps started: $(cat err)"
