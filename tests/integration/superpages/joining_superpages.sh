#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Small objects of variable size come from malloc's own heap, which joins neighbours, and that heap
# lies on superpages. No size class rounds them up, and few of its pages fault one by one. If
# superpages are unwanted, or a budget counts them, the heap lies on base pages.
. "$(dirname "$0")/../support/lib.sh"
need_thp
command -v "$CLANG" >/dev/null || skip "no $CLANG"
cat >rows.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *fill(void *argument) {
  const size_t bytes = strtoul(argument, NULL, 10), rows = (256ul << 20) / bytes;
  char **row = malloc(rows * sizeof *row), line[256], mapped[16];
  for (size_t i = 0; i < rows; i++) {
    row[i] = malloc(bytes);
    memset(row[i], (int)i, bytes);
  }
  unsigned long faults = 0, kib = 0, value, sum = 0;
  for (size_t i = 0; i < rows; i += 7)
    sum = sum * 3 + (unsigned char)row[i][bytes / 2];
  FILE *f = fopen("/proc/self/status", "r");
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "VmHWM: %lu", &value) == 1) kib = value;
  fclose(f);
  f = fopen("/proc/self/stat", "r");
  if (!f || fscanf(f, "%*d (%15[^)]) %*c %*d %*d %*d %*d %*d %*u %lu", mapped, &faults) != 2) abort();
  fclose(f);
  fprintf(stderr, "%lu %lu\n", faults, kib >> 10);
  printf("%lu\n", sum);
  return argument;
}
int main(int argc, char **argv) {
  if (argc == 2) return !fill(argv[1]);
  pthread_t thread; /* malloc serves it from an arena other than the first thread's */
  return pthread_create(&thread, NULL, fill, argv[1]) != 0 || pthread_join(thread, NULL) != 0;
}
C
"$CLANG" -O2 -fplugin="$PLUGIN" rows.c -o rows -pthread || fail "does not compile"
"$CLANG" -O2 rows.c -o plain -pthread
# run SMALLOC_CONF BYTES: sets faults and mib. populate:always: the counts do not depend on what
# first touches cost this system.
run() {
  SMALLOC_CONF=populate:always,$1 LD_PRELOAD=$LIB ./rows "${@:2}" >got 2>err || fail "rows of $2 bytes, $1: status $?"
  cmp want got || fail "rows of $2 bytes, $1: another output"
  read -r faults mib <err
}
# A size class wastes most at these sizes: 40,004 bytes take 48 KiB there. malloc maps blocks of 768
# KiB (a program's pools) separately, unless its threshold is changed.
for bytes in 1100 9000 40004 786432; do
  ./plain $bytes >want 2>err
  read -r plain_faults plain_mib <err
  run promote:calls $bytes
  echo "rows of $bytes bytes: $faults page faults, $mib MiB; plain $plain_faults, $plain_mib MiB"
  [ "$mib" -le $((plain_mib + plain_mib / 50 + 6)) ] || fail "rows of $bytes bytes take $mib MiB"
  [ "$faults" -le $((plain_faults / 6)) ] || fail "rows of $bytes bytes: $faults page faults"
  for conf in pages:base budget:8m; do
    run $conf $bytes
    [ "$faults" -ge $((plain_faults - plain_faults / 8)) ] ||
      fail "rows of $bytes bytes, $conf: $faults page faults: superpages were given"
  done
done
./plain 9000 thread >want 2>err
read -r plain_faults plain_mib <err
run promote:calls 9000 thread
echo "rows of a thread: $faults page faults, $mib MiB; plain $plain_faults, $plain_mib MiB"
[ "$faults" -le $((plain_faults / 4)) ] || fail "rows of a thread: $faults page faults"
