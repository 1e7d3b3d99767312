#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# glibc 2.36 (Debian 12's libc6 2.36-9+deb12u14), posix_memalign and the dynamic mmap threshold.
#
# By mallopt(3), the mmap threshold rises to the size of a mapped block when it is freed. So a
# program that allocates and frees 2 MiB again and again maps memory once, and then reuses the heap.
# With posix_memalign and an alignment of a page or more, the threshold never rises far enough.
# malloc asks for the size plus the alignment, but the freed chunk lacks the part before the aligned
# address. The threshold becomes the smaller number, and the next request is above it again.
# A program allocates and frees 2 MiB 1,000 times. malloc maps memory in 1 turn, posix_memalign in
# 1,000 turns, at alignments of 4 KiB, 64 KiB and 2 MiB. With base pages, all 512 pages fault again
# in each turn that writes to them.
# One malloc and free of 5 MiB before the turns ends it: the threshold is then high enough, and
# posix_memalign maps memory in none of the turns.
# glibc 2.41 (Debian 13) behaved the same in a run by hand.
# Exits 0 while that is so, 1 when it has changed.
set -euo pipefail
version=2.36-9+deb12u14
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq "libc6=$version" >/dev/null 2>&1 \
  || { echo "cannot download libc6=$version"; exit 1; }
dpkg -x libc6_*.deb root
libraries=$(dirname "$(find "$PWD/root" -name libc.so.6)")
cat >turns.c <<'C'
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  size_t alignment = argc > 1 ? strtoul(argv[1], NULL, 10) : 0; /* 0: by malloc */
  int mapped = 0;
  if (argc > 2)
    free(malloc(strtoul(argv[2], NULL, 10)));
  for (int turn = 0; turn < 1000; turn++) {
    void *object = NULL;
    if (alignment == 0)
      object = malloc(2 << 20);
    else if (posix_memalign(&object, alignment, 2 << 20))
      return 1;
    if (!object)
      return 1;
    mapped += mallinfo2().hblks > 0; /* mapped chunks in use */
    free(object);
  }
  printf("%d\n", mapped);
  return 0;
}
C
cc -O1 -fno-builtin turns.c -o turns
changed=0
echo "libc6 $version, turns of 1,000 that map memory for 2 MiB"
try() { # WHAT EXPECTED [ALIGNMENT [BYTES BEFORE]]
  local what=$1 expected=$2 mapped
  shift 2
  mapped=$(env -u LD_PRELOAD -u GLIBC_TUNABLES "$libraries"/ld-linux-x86-64.so.2 \
    --library-path "$libraries" ./turns "$@")
  echo "$what: $mapped"
  [ "$mapped" = "$expected" ] || changed=1
}
try "malloc" 1 0
for alignment in 4096 65536 2097152; do
  try "posix_memalign to $alignment" 1000 $alignment
  try "posix_memalign to $alignment after a free of 5 MiB" 0 $alignment $((5 << 20))
done
if [ $changed = 1 ]; then
  echo "changed"
  exit 1
fi
