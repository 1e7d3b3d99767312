#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The rows of a matrix start at many places of a page, so that a walk along a column uses most sets
# of the first-level cache: rows by malloc, calloc and operator new, of sizes that size classes
# would place at multiples of a page, with and without the plugin.
# Another thread gets memory, too.
. "$(dirname "$0")/../support/lib.sh"
command -v "$CLANGXX" >/dev/null || skip "no $CLANGXX"
cat >t.cpp <<'C'
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>
using Rows = std::vector<char *>;
static const int kRows = 1000;
static Rows make(char how, size_t bytes) {
  Rows row(kRows);
  static char *beside[kRows]; /* of another matrix, whose rows are requested in turns with these */
  for (int i = 0; i < kRows; i++) {
    if (how == 'i') free(beside[i]), beside[i] = (char *)malloc(2 * bytes);
    row[i] = how == 'm' || how == 'i' ? (char *)malloc(bytes) : how == 'c' ? (char *)calloc(1, bytes) : new char[bytes];
    if (!row[i]) abort();
    if (how == 'c')
      for (size_t k = 0; k < bytes; k++)
        if (row[i][k]) abort();
    memset(row[i], i | 1, bytes);
  }
  return row;
}
static int lines(const Rows &row) { // places of a page, in cache lines, at which rows start
  std::vector<bool> used(64);
  int n = 0;
  for (char *p : row) {
    const unsigned at = (uintptr_t)p / 64 % 64;
    n += !used[at];
    used[at] = true;
  }
  return n;
}
static void drop(char how, Rows &row) {
  for (char *p : row)
    if (how == 'n') delete[] p; else free(p);
}
int main(int argc, char **argv) {
  Rows early = make('m', 200000 / 16); // beyond the size of a small process
  drop('m', early);
  for (int at = 1; at < argc; at += 2) {
    const char how = argv[at][0];
    const size_t bytes = strtoul(argv[at + 1], nullptr, 10);
    Rows first = make(how, bytes), second = make(how, bytes);
    printf("%c %zu %d\n", how, bytes, lines(second));
    drop(how, first), drop(how, second);
  }
  std::thread other([] { Rows row = make('m', 8000); drop('m', row); });
  other.join();
}
C
"$CLANGXX" -O2 t.cpp -o plain -pthread
"$CLANGXX" -O2 -fplugin="$PLUGIN" t.cpp -o sites -pthread
rows=(m 8000 m 8192 m 4000 m 4096 m 12000 m 16384 m 28000 m 32768 c 8000 c 8192 c 14000 n 8000 n 8192 n 24576 i 8192 i 4096)
for program in plain sites; do
  LD_PRELOAD=$LIB expect_status 0 timeout 60 ./$program "${rows[@]}"
  while read -r how bytes lines; do
    [ "$lines" -ge 56 ] || fail "$program, $how $bytes: rows start in $lines of 64 lines"
  done <out
  [ "$(wc -l <out)" = $((${#rows[@]} / 2)) ] || fail "$program: $(cat out)"
done
for program in plain sites; do # heap:off changes nothing
  SMALLOC_CONF=heap:off LD_PRELOAD=$LIB expect_status 0 ./$program "${rows[@]}"
done
