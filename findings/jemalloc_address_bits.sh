#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# jemalloc 5.3.0 for amd64 in Debian 12 (libjemalloc-dev 5.3.0-1) and in Debian 13 (5.3.0-3).
#
# The same release for the same architecture has two layouts of the tree in which jemalloc looks up the page of each freed
# pointer. Its configuration asks the processor of the machine that builds the package for the number of virtual address
# bits, and the builders differed. With 48 bits the tree has two levels: a static root of 2^18 pointers (2 MiB), and leaves
# for 1 GiB with 8 bytes a page, in which the size class shares a word with the pointer. With 57 bits it has three levels:
# a root of 2^15 pointers (256 KiB), and leaves for 128 MiB with 16 bytes a page. So the packages differ in static memory,
# in the memory per mapped GiB, and in all that reads the tree from outside, such as debugger scripts.
# Shown by the size of the static table and by whether the code of `free` shifts a word by 48 bits.
# Exits 0 while that is so, 1 when it has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
pool=http://deb.debian.org/debian/pool/main/j/jemalloc
changed=0
look() { # VERSION ENTRIES SHIFTS
  curl -fsSL --retry 2 -o "$1.deb" "$pool/libjemalloc-dev_$1_amd64.deb" || { echo "cannot download $1"; exit 1; }
  dpkg -x "$1.deb" "$1"
  local archive=$1/usr/lib/x86_64-linux-gnu/libjemalloc_pic.a bytes shifts
  bytes=$((0x$(nm -S "$archive" 2>/dev/null | sed -n 's/^[0-9a-f]* \([0-9a-f]*\) B je_arena_emap_global$/\1/p')))
  shifts=$(objdump -d "$archive" 2>/dev/null | sed -n '/<free>:$/,/^$/p' | grep -c 'shr *\$0x30,' || true)
  echo "libjemalloc-dev $1: table of all pages $bytes bytes, $((bytes / 8)) entries at most; free shifts a word by 48 bits $shifts times"
  [ $((bytes / 8 / 32768)) = $(($2 / 32768)) ] && [ "$([ "$shifts" = 0 ] && echo no || echo yes)" = "$3" ] || changed=1
}
look 5.3.0-1 262144 yes
look 5.3.0-3 32768 no
if [ $changed = 1 ]; then
  echo "changed"
  exit 1
fi
