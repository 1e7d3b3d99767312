#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# MemProf of LLVM 22.1.8 (Debian 12's clang-22 1:22.1.8-1~deb12u1) and its access count.
#
# MemProf records for each allocation how often it is accessed, and llvm-profdata divides the count
# by the bytes to get the density of access. The count has no fixed unit.
# A load or store in a loop counts as 1, whatever its width: MemProf counts behind the vectorizer.
# Inside memset and memcpy each 8 bytes count as 1.
# A loop reads 1 MiB of int once. It counts 262,144 accesses as scalar code, and 65,536 as the
# vector code of -O2 for the same source. memset and memcpy of the same 1 MiB count 131,072 each,
# at both settings. llvm-profdata shows a density of 25 for the scalar loop and of 6 for the vector
# loop.
# So the vectorizer makes an array look four times colder, and counts of builds with other options
# do not compare. A memset looks twice as hot as a vector loop over the same bytes.
# LLVM 19.1.7 counted the same for the loop and memset in a run by hand.
# Exits 0 while that is so, 1 when it has changed.
set -euo pipefail
version=1:22.1.8-1~deb12u1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in clang-22 libclang-cpp22 libllvm22 libclang-common-22-dev libclang-rt-22-dev; do
  apt-get download -qq "$package=$version" >/dev/null 2>&1 \
    || { echo "cannot download $package=$version"; exit 1; }
done
for deb in *.deb; do dpkg -x "$deb" root; done
cat >access.c <<'C'
#include <stdlib.h>
#include <string.h>
enum { kBytes = 1 << 20 };
static char copy[kBytes];
__attribute__((noinline)) static int sum(const int *array) {
  int result = 0;
  for (int i = 0; i < kBytes / (int)sizeof(int); i++)
    result += array[i];
  return result;
}
int main(int argc, char **argv) {
  int result = 0;
  int *array = calloc(1, kBytes);
  if (!array || argc != 2)
    return 1;
  if (!strcmp(argv[1], "loop"))
    result = sum(array);
  else if (!strcmp(argv[1], "memset"))
    memset(array, argc, kBytes);
  else if (!strcmp(argv[1], "memcpy"))
    memcpy(copy, array, kBytes);
  __asm__ volatile("" : : "r"(array) : "memory"); /* keeps the memset */
  free(array);
  return result + copy[0];
}
C
compile() { # OPTION PROGRAM
  LD_LIBRARY_PATH=$PWD/root/usr/lib/x86_64-linux-gnu:$PWD/root/usr/lib/llvm-22/lib \
    root/usr/lib/llvm-22/bin/clang -O2 "$1" -march=x86-64 -fmemory-profile access.c -o "$2"
}
compile -fno-vectorize scalar
compile -fvectorize vector
count() { # PROGRAM ACCESS
  MEMPROF_OPTIONS=print_text=1:log_path=stderr "./$1" "$2" 2>&1 |
    awk '/size \(ave\/min\/max\) 1048576/ {found = 1}
         found && /access_count/ {sub(/\..*/, "", $3); print $3; exit}'
}
changed=0
echo "clang-22 $version, accesses that MemProf counts for an array of 1 MiB"
try() { # PROGRAM ACCESS EXPECTED
  local counted
  counted=$(count "$1" "$2")
  echo "$1 code, $2: $counted"
  [ "$counted" = "$3" ] || changed=1
}
try scalar none 0
try scalar loop 262144
try vector loop 65536
try scalar memset 131072
try vector memset 131072
try scalar memcpy 131072
try vector memcpy 131072
if [ $changed = 1 ]; then
  echo "changed"
  exit 1
fi
