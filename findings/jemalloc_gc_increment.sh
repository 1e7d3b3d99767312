#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# jemalloc 5.3.0 (Debian 12's libjemalloc2 5.3.0-1) and its option tcache_gc_incr_bytes.
#
# A thread's cache is swept by allocated bytes, not by calls or time: one size class after each
# 64 KiB by default. A program that replaces objects of up to 32 KiB reaches that every fourth call,
# so sweeping and refilling take a large part of its work. The option, which the manual lists without
# a recommendation, makes the interval longer. At 1 MiB the same program needs less than two thirds
# of the instructions, and its peak memory is smaller, although the cache keeps more.
# Counted by valgrind's callgrind, which does not depend on the machine's load.
# Exits 0 while that is so, 1 when it has changed, 77 without valgrind.
set -euo pipefail
command -v valgrind >/dev/null || { echo "skipped: valgrind is missing"; exit 77; }
version=5.3.0-1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq "libjemalloc2=$version" >/dev/null || { echo "cannot download libjemalloc2=$version"; exit 1; }
dpkg -x libjemalloc2_*.deb root
library=$(find "$PWD/root" -name 'libjemalloc.so.2')
cat >replace.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { kObjects = 4000, kTurns = 400000 };
static char *objects[kObjects];
int main(void) {
  unsigned long long x = 88172645463325252u;
  for (int turn = 0; turn < kTurns; turn++) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    char **place = &objects[x % kObjects];
    free(*place);
    *place = malloc(16 + (x >> 20) % 32000);
    **place = 1;
  }
  char line[256];
  FILE *status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status))
    if (strncmp(line, "VmHWM:", 6) == 0)
      printf("%lu\n", strtoul(line + 6, NULL, 10) / 1024);
  return 0;
}
C
cc -O1 -fno-builtin replace.c "$library" -Wl,-rpath,"$(dirname "$library")" -o replace
measure() { # OPTIONS: prints instructions and MiB
  local instructions
  instructions=$(MALLOC_CONF=$1 valgrind --tool=callgrind --callgrind-out-file=/dev/null ./replace 2>&1 >/dev/null |
    awk '/Collected/ {print $NF}')
  echo "$instructions $(MALLOC_CONF=$1 ./replace)"
}
read -r by_default default_mib < <(measure "")
read -r at_1m mib < <(measure tcache_gc_incr_bytes:1048576)
echo "libjemalloc2 $version, 400,000 replacements of objects of up to 32 KiB:" \
  "$by_default instructions and a peak of $default_mib MiB by default," \
  "$at_1m and $mib MiB with tcache_gc_incr_bytes:1048576"
if [ $((at_1m * 3)) -ge $((by_default * 2)) ] || [ "$mib" -ge "$default_mib" ]; then
  echo "changed"
  exit 1
fi
