#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# At a rate below 1 a program records every access to a kept region and no other. This covers
# gathers, whose regions are looked up in a table by their index (negative, of a field, of 64 bits),
# and sequential accesses beside them, page by page. The program counts the accesses itself.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
cat >told.c <<'C'
#include "told.h"
double gather(const double *a, const uint32_t *index, long n) {
  double sum = 0;
  for (long i = 0; i < n; i++)
    sum += a[index[i]];
  return sum;
}
void from_the_middle(double *middle, const int64_t *index, long n) {
  for (long i = 0; i < n; i++)
    middle[index[i]] += 1;
}
long field(const struct line *a, const uint32_t *index, long n) {
  long sum = 0;
  for (long i = 0; i < n; i++)
    sum += a[index[i]].field;
  return sum;
}
double rows(const long *start, const double *value, const uint32_t *column, const double *x, double *y, long n) {
  for (long r = 0; r < n; r++) {
    double sum = 0;
    for (long k = start[r]; k < start[r + 1]; k++)
      sum += value[k] * x[column[k]];
    y[r] = sum;
  }
  return y[0];
}
C
cat >told.h <<'C'
#include <stdint.h>
struct line {
  long other[5], field, more[2];
};
double gather(const double *a, const uint32_t *index, long n);
void from_the_middle(double *middle, const int64_t *index, long n);
long field(const struct line *a, const uint32_t *index, long n);
double rows(const long *start, const double *value, const uint32_t *column, const double *x, double *y, long n);
C
cat >main.c <<'C'
#include "told.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
static long kPages = 1 << 14; /* 64 MiB: 32 regions */
static const long kTimes = 64; /* of rows, whose other arrays are smaller than the gathered one */
static uint64_t threshold;
static int kept(const void *p) {
  return ((uint64_t)p >> 21) * UINT64_C(0x9e3779b97f4a7c15) < threshold;
}
/* For an array that is streamed once. */
static long pages(const void *p, size_t bytes) {
  long n = 0;
  for (uint64_t at = (uint64_t)p & ~4095ul; at < (uint64_t)p + bytes; at += 4096)
    n += kept((void *)at);
  return n;
}
static void *some(size_t bytes) {
  void *p = malloc(bytes);
  if (!p)
    exit(77);
  memset(p, 0, bytes);
  return p;
}
int main(int argc, char **argv) {
  const double rate = strtod(argv[2], NULL);
  threshold = rate >= 1 ? UINT64_MAX : (uint64_t)(rate * 4294967296.0) << 32;
  if (argc > 3)
    kPages = 1 << 11;
  if (getenv("LOCKED") && mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
    return 77;
  const long n = argv[1][0] == 'r' ? kPages * kTimes : kPages;
  char *memory = some(kPages * 4096ul);
  uint32_t *index = some(n * 4ul);
  int64_t *wide = some(n * 8ul);
  long expected = 0;
  double result = 0;
  for (long i = 0; i < n; i++) { /* each page once, far from the one before, at a different offset */
    const long page = i * 6007 % kPages, slot = i * 37 % 512;
    index[i] = (uint32_t)(page * 512 + slot);
    wide[i] = page * 512 + slot - kPages * 256;
    if (argv[1][0] == 'f')
      index[i] /= 8;
    expected += kept(memory + page * 4096 + slot / 8 * 64);
  }
  switch (argv[1][0]) {
  case 'g':
    result = gather((double *)memory, index, n);
    expected += pages(index, n * 4ul);
    break;
  case 'm':
    from_the_middle((double *)memory + kPages * 256, wide, n);
    expected += pages(wide, n * 8ul);
    break;
  case 'f':
    result = (double)field((struct line *)memory, index, n);
    expected += pages(index, n * 4ul);
    break;
  default: { /* rows of 0 to 7 */
    long rows_made = 0, *start = some((n + 2) * 8ul);
    double *value = some(n * 8ul), *y = some(n * 8ul);
    for (long k = 0; k < n; rows_made++) {
      start[rows_made] = k;
      k += rows_made % 8 < n - k ? rows_made % 8 : n - k;
    }
    start[rows_made] = n;
    result = rows(start, value, index, (double *)memory, y, rows_made);
    expected += pages(index, n * 4ul) + pages(value, n * 8ul) + pages(y, (size_t)rows_made * 8) +
                pages(start, (size_t)(rows_made + 1) * 8);
  }
  }
  char line[256];
  FILE *status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status))
    if (!strncmp(line, "VmPeak:", 7) || !strncmp(line, "VmHWM:", 6))
      fputs(line, stderr);
  fprintf(stderr, "expected %ld\n", expected);
  printf("%g\n", result);
  return 0;
}
C
near() { # GOT WANT SLACK WHAT
  if [ $(($1 - $2)) -gt "$3" ] || [ $(($2 - $1)) -gt "$3" ]; then
    fail "$4: $1 accesses told, $2 made"
  fi
  echo "$4: $1 of $2"
}
runs_in() {
  "$SMALLOC" trace show "$1" --json >shown
  python3 -c 'import json; print(json.load(open("shown"))["events"]["access_runs"])'
}
for flags in "-fno-vectorize -fno-unroll-loops" "-march=native" "-fno-vectorize"; do
  read -ra options <<<"-O2 $flags"
  quietly "$CLANG" "${options[@]}" -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate -c told.c -o told.o
  quietly "$CLANG" -O1 main.c told.o -o program
  for kind in gather middle field rows; do
    for rate in 0.25 0.75; do
      expect_status 0 "$SMALLOC" record -q --rate $rate -o "t.$kind.trace" -- ./program $kind $rate
      want=$(sed -n 's/^expected //p' err)
      # Pages at the ends of a streamed range, where a row or a vector of them begins or ends.
      near "$(runs_in "t.$kind.trace")" "$want" $((8 + want / 1000)) "$kind at rate $rate, $flags"
    done
  done
done

# Without room for the table the program records everything, and the writer drops accesses to other
# regions.
preloaded() { # TRACE
  rm -f "$1"
  LD_PRELOAD=$SMALLOC_BUILD/lib/libsmalloc_feedback.so SMALLOC_CONF="heap:off,rate:0.75,trace:$1" ./program gather 0.75 small >out 2>err
}
preloaded roomy.trace || fail "preloaded: $(cat err)"
peak=$(sed -n 's/^VmPeak:[^0-9]*\([0-9]*\).*/\1/p' err)
[ -n "$peak" ] || fail "no peak: $(cat err)"
(
  ulimit -v $((peak - 32768)) # the table has 64 MiB, the program less
  preloaded tight.trace
) || fail "without room for the table: $(cat err)"
want=$(sed -n 's/^expected //p' err)
near "$(runs_in tight.trace)" "$want" 8 "without room for the table"
vm() { sed -n "s/^Vm$1:[^0-9]*\\([0-9]*\\).*/\\1/p" err; }
# Under a limit the program needs the memory that is left, even if the table would fit.
(
  ulimit -v $((2 * peak))
  preloaded limited.trace
) || fail "under a limit: $(cat err)"
near "$(runs_in limited.trace)" "$(sed -n 's/^expected //p' err)" 8 "under a limit"
[ "$(vm Peak)" -lt $((peak - 49152)) ] || fail "the table is there under a limit of $((2 * peak)) KiB: $(cat err)"
# If the program locks all later mappings, they become resident at once, but the table does not.
if [ "$(ulimit -l)" = unlimited ] || [ "$(id -u)" = 0 ]; then
  LOCKED=1 preloaded locked.trace || fail "locked: $(cat err)"
  near "$(runs_in locked.trace)" "$(sed -n 's/^expected //p' err)" 8 "locked"
  [ "$(vm Peak)" -gt $((peak - 49152)) ] || fail "locked, there is no table: $(cat err)"
  locked=$(vm HWM)
  (
    ulimit -v $((2 * peak))
    LOCKED=1 preloaded locked-limited.trace
  ) || fail "locked under a limit: $(cat err)"
  [ "$locked" -lt $(($(vm HWM) + 32768)) ] || fail "the table is resident: $locked KiB, $(vm HWM) without it"
fi

# An emulator's indices are addresses of its guest, and its base pointer is no valid address. The
# program prints the same as without the plugin, and writes nowhere else.
cat >guest.c <<'C'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) long bytes(const unsigned char *memory, const uint64_t *guest, int n) {
  long s = 0;
  for (int i = 0; i < n; i++)
    s += memory[guest[i]];
  return s;
}
__attribute__((noinline)) double words(const double *memory, const uint64_t *guest, int n) {
  double s = 0;
  for (int i = 0; i < n; i++)
    s += memory[guest[i]];
  return s;
}
int main(int argc, char **argv) {
  const uint64_t origin = strtoull(argv[argc - 1], NULL, 0);
  const int n = 1 << 25, picks = 100000;
  unsigned char *memory = calloc(n, 1);
  uint64_t *guest = malloc(8 * picks), *wide = malloc(8 * picks);
  if (!memory || !guest || !wide)
    return 77;
  unsigned x = 1;
  for (int i = 0; i < picks; i++) {
    x = x * 1664525u + 1013904223u;
    guest[i] = origin + (x >> 7) % n;
    wide[i] = origin / 8 + (x >> 7) % (n / 8) + ((uint64_t)i << 61); /* bits beyond an address */
  }
  printf("%ld\n", bytes((unsigned char *)((uintptr_t)memory - origin), guest, picks));
  printf("%g\n", words((double *)((uintptr_t)memory - origin / 8 * 8), wide, picks));
  int written = 0;
  for (int i = 0; i < n; i++)
    written += memory[i] != 0;
  printf("%d\n", written);
  return 0;
}
C
"$CLANG" -O2 guest.c -o guest.plain
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate guest.c -o guest
for origin in 0 0x1000 0x7f0000000000 0x7ff000000000 0x4000000000000000 0x8000000000000000 0xc000000000000000 0xffff800000000000 0xffffc90000000000; do
  ./guest.plain $origin >want
  for how in 0.01 0.5 1; do
    expect_status 0 "$SMALLOC" record -q --rate $how -o guest.trace -- ./guest $origin
    cmp -s out want || fail "from $origin at rate $how: $(cat out) instead of $(cat want)"
  done
done

# At rate 1 all accesses go to the thread's memory: no table uses address space that the program may
# need.
"$CLANG" -O2 main.c told.o -o program
(
  ulimit -v $((peak - 32768))
  rm -f all.trace
  LD_PRELOAD=$SMALLOC_BUILD/lib/libsmalloc_feedback.so SMALLOC_CONF="heap:off,rate:1,trace:all.trace" ./program gather 1 small >out 2>err
) || fail "rate 1 with little room: $(cat err)"
near "$(runs_in all.trace)" "$(sed -n 's/^expected //p' err)" 8 "rate 1 with little room"
[ "$(sed -n 's/^VmPeak:[^0-9]*\([0-9]*\).*/\1/p' err)" -lt $((peak - 49152)) ] || fail "rate 1 has the table: $(cat err)"
