#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# glibc 2.36 (Debian 12's libc6 2.36-9+deb12u14): calloc and the malloc parameter M_TOP_PAD.
#
# The manual describes M_TOP_PAD as a trade of address space for system calls: how much more than
# needed the break moves. It also decides how much of a zeroed, never touched array is resident.
# calloc leaves out the clearing only for what this very call has got from the kernel; what an
# earlier move of the break brought is fresh as well, but malloc does not know that any more, and
# writes zeros. 2,000 arrays of 100,000 bytes, allocated by calloc and not touched: with the default
# pad (128 KiB) two thirds of their 191 MiB are resident, with a pad of 8 MiB all, with none a tenth.
# malloc in place of calloc would leave all but a page each untouched in all three cases.
# Exits 0 while that is so, 1 when it has changed.
set -euo pipefail
version=2.36-9+deb12u14
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq "libc6=$version" >/dev/null || { echo "cannot download libc6=$version"; exit 1; }
dpkg -x libc6_*.deb root
libraries=$(dirname "$(find "$PWD/root" -name libc.so.6)")
cat >zeroed.c <<'C'
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  long pages, resident;
  if (argc > 1)
    mallopt(M_TOP_PAD, atoi(argv[1]));
  for (int i = 0; i < 2000; i++)
    if (!calloc(1, 100000))
      return 1;
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f || fscanf(f, "%ld %ld", &pages, &resident) != 2)
    return 1;
  printf("%ld\n", resident * 4096 * 100 / (2000L * 100000)); /* percent */
  return 0;
}
C
cc -O1 zeroed.c -o zeroed
run() { env -u LD_PRELOAD -u GLIBC_TUNABLES "$libraries"/ld-linux-x86-64.so.2 --library-path "$libraries" ./zeroed "$@"; }
none=$(run 0) usual=$(run) large=$(run 8388608)
echo "libc6 $version, percent of 191 MiB resident: M_TOP_PAD 0: $none, default: $usual, 8 MiB: $large"
if [ "$none" -gt 20 ] || [ "$usual" -lt 50 ] || [ "$usual" -gt 90 ] || [ "$large" -lt 98 ]; then
  echo "changed"
  exit 1
fi
