#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Programs for aarch64 that know nothing of smalloc run with it preloaded, under each strategy. They
# print what they print without it, the statistics at the end name the heaps, and malloc's fast path
# knows jemalloc's thread cache.
. "$(dirname "$0")/cross.bash"
need_library
programs=$SMALLOC_SOURCE/tests/aarch64
aarch64-linux-gnu-gcc -O1 "$programs/mixed.c" -o mixed_c
aarch64-linux-gnu-g++ -O1 -std=c++17 "$programs/mixed.cpp" -o mixed_cpp -pthread
for program in mixed_c mixed_cpp; do
  emulated "" ./$program >expected
  for heap in auto guest superpage migrate off; do
    PRELOADED=$LIB expect_status 0 emulated "heap:$heap,stats:exit,debug:on,$RESERVED" ./$program
    diff expected out || fail "$program prints something else under heap:$heap"
    expect_no_match err 'warning|contradict'
    case $heap in
    off) expect_match err 'heaps: +off' ;;
    *)
      expect_match err "heaps: +running, strategy $heap"
      expect_match err 'big objects: +[1-9]'
      ;;
    esac
  done
done
PRELOADED=$LIB expect_status 0 emulated "heap:auto,stats:exit,$RESERVED" ./mixed_c
expect_match err 'small objects: +[1-9][0-9]* allocated'
# The processor's preset is found by its main ID register.
PRELOADED=$LIB QEMU_CPU=neoverse-n1 expect_status 0 emulated "stats:exit,$RESERVED" ./mixed_c
expect_match err 'machine neoverse-n1'
# Reads two variables of libsmalloc: the size below which malloc takes from the thread's cache, and
# the part of the heap in which free knows the size class.
cat >peek.c <<'C'
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int find(struct dl_phdr_info *info, size_t bytes, void *base) {
  if (strstr(info->dlpi_name, "libsmalloc.so"))
    *(size_t *)base = info->dlpi_addr;
  return 0;
}
int main(int count, char **arguments) {
  static void *objects[100000];
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < 100000; i++)
      objects[i] = malloc(100);
    for (int i = 0; i < 100000; i++)
      free(objects[i]);
  }
  size_t base = 0;
  dl_iterate_phdr(find, &base);
  size_t *entry = (size_t *)(base + strtoul(arguments[1], NULL, 16)),
         *covered = (size_t *)(base + strtoul(arguments[2], NULL, 16));
  printf("cached below %zu, %s\n", entry[1], *covered ? "covered" : "not covered");
  return 0;
}
C
aarch64-linux-gnu-gcc -O1 peek.c -o peek
address() { nm -C "$LIB" | awk -v name="$1" '$3 == name {print $1}'; }
entry=$(address smalloc::g_malloc_entry) covered=$(address smalloc::KnownPages::covered_bytes_)
[ -n "$entry" ] && [ -n "$covered" ] || skip "$LIB is stripped"
PRELOADED=$LIB expect_status 0 emulated "$RESERVED" ./peek "$entry" "$covered"
expect_match out '^cached below 3585, covered$'
