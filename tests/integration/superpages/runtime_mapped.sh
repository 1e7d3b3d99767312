#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Memory from mmap is on superpages from first touch if it is filled, and by collapse if it is dense
# and used at random. Parts may be unmapped, protected, moved and forked, and contents stay. A
# mapping without benefit is left unchanged.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
cat >t.c <<'C'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#define N (4L << 20)
static long huge_kib_at(const void *p, size_t bytes) {
  FILE *smaps = fopen("/proc/self/smaps", "r");
  char line[4096];
  long kib = 0, total = 0;
  int inside = 0;
  while (smaps && fgets(line, sizeof line, smaps)) {
    unsigned long start, stop;
    char dash;
    if (sscanf(line, "%lx%c%lx", &start, &dash, &stop) == 3 && dash == '-')
      inside = start < (unsigned long)p + bytes && (unsigned long)p < stop;
    if (inside && sscanf(line, "AnonHugePages: %ld", &kib) == 1)
      total += kib;
  }
  if (smaps)
    fclose(smaps);
  return total;
}
static double *map(long n) {
  double *p = mmap(NULL, (size_t)n * sizeof *p, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    abort();
  return p;
}
__attribute__((noinline)) static double gather(const double *a, const int *pick, long n) {
  double s = 0;
  for (int k = 0; k < 8; k++)
    for (long i = 0; i < n; i++)
      s += a[pick[i]];
  return s;
}
int main(void) {
  const long n = N;
  int *pick = malloc((size_t)n * sizeof *pick);
  if (!pick)
    abort();
  unsigned state = 1;
  for (long i = 0; i < n; i++) {
    state = state * 1664525u + 1013904223u;
    pick[i] = (int)(state % (unsigned)n);
  }
  double *born = map(n);
  // The kernel merges neighbouring mappings of one kind, and smaps counts mappings.
  if (mmap(NULL, 2 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
    abort();
  double *later = map(n);
  if (mmap(NULL, 2 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
    abort();
  double *cold = map(n);
  madvise(cold, (size_t)n * 8, MADV_DONTDUMP); // its own entry in smaps
  for (long i = 0; i < n; i++)
    born[i] = (double)(i % 7);
  for (long i = 0; i < n; i++) // each element, in an order that cannot be proved to be that
    later[i ^ (pick[i % 64] & 63)] = (double)(i % 5);
  for (long i = 0; i < n; i++)
    cold[i] = (double)(i % 3);
  double s = gather(born, pick, n) + gather(later, pick, n) + gather(later, pick, n);
  for (long i = 0; i < n; i++)
    s = s / 2 + cold[i];
  printf("born huge_kib %ld\nlater huge_kib %ld\ncold huge_kib %ld\n", huge_kib_at(born, (size_t)n * 8),
         huge_kib_at(later, (size_t)n * 8), huge_kib_at(cold + 4096, (size_t)n * 8 - 65536));
  printf("sum %.0f\n", s);
  // Any operation of the program on its mapping.
  const size_t half = (size_t)n / 2;
  if (munmap(born + half, half * 8) || mprotect(born, 8192, PROT_READ))
    abort();
  double *moved = (double *)syscall(SYS_mremap, later, (size_t)n * 8, (size_t)n * 12, MREMAP_MAYMOVE);
  if (moved == MAP_FAILED)
    abort();
  moved[n] = 5;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    double t = gather(moved, pick, n) + born[5] + moved[n];
    printf("child %.0f\n", t);
    fflush(stdout);
    _exit(0);
  }
  int status;
  waitpid(child, &status, 0);
  double t = gather(moved, pick, n) + born[5] + moved[n];
  printf("parent %.0f %d\n", t, status);
  for (int round = 0; round < 40; round++) { // the same addresses repeatedly
    double *again = map(n / 8);
    for (long i = 0; i < n / 8; i++)
      again[i] = round;
    t += again[pick[round] % (n / 8)];
    munmap(again, (size_t)n / 8 * 8);
  }
  printf("again %.0f\n", t);
  return 0;
}
C
"$CLANG" -O2 t.c -o reference
./reference >out
grep -v huge_kib out >expected
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-machine=zen4 -fplugin-arg-smalloc-first-touch=off t.c -o program
run() {
  expect_status 0 env "$@" ./program
  cmp -s <(grep -v huge_kib out) expected || { cat out >&2; fail "another result: $*"; }
}
kib() { sed -n "s/$1 huge_kib //p" out; }
run A=
[ "$(kib born)$(kib later)$(kib cold)" = 000 ] || [ "$(thp_mode)" = always ] || fail "superpages without the library"
for conf in promote:auto promote:eager heap:superpage heap:migrate heap:off budget:8m promote:off; do
  run LD_PRELOAD="$LIB" SMALLOC_CONF="populate:always,$conf"
done
need_thp
# Collapses must pay for themselves by the clock. On a busy machine they may be too expensive in one
# run. The system's own use of memory may give other mappings superpages in one run.
for _ in 1 2 3 4; do
  rm -f "$tmp/s.json"
  run LD_PRELOAD="$LIB" SMALLOC_CONF=populate:always,stats:json,stats_file:"$tmp/s.json"
  [ "$(kib later)" -lt 2048 ] || [ "$(kib cold)" != 0 ] || break
done
[ "$(kib born)" -ge 24576 ] || { cat out >&2; fail "filled memory is not on superpages"; }
[ "$(kib later)" -ge 2048 ] || { cat out >&2; fail "dense memory was not promoted"; }
[ "$(kib cold)" = 0 ] || [ "$(thp_mode)" = always ] || { cat out >&2; fail "streamed memory is on superpages"; }
run LD_PRELOAD="$LIB" SMALLOC_CONF=populate:always,promote:off
[ "$(kib later)" = 0 ] || [ "$(thp_mode)" = always ] || { cat out >&2; fail "promoted although it is switched off"; }
expect_match s.json '"mapped_superpages_advised":[1-9]'
expect_match s.json '"mapped_superpages_promoted":[1-9]'
run LD_PRELOAD="$LIB" SMALLOC_CONF=populate:always,budget:8m,stats:json,stats_file:"$tmp/b.json"
python3 -c 'import json; c = json.load(open("b.json"))["counters"]; assert c["mapped_superpages_advised"] + c["mapped_superpages_promoted"] <= 4, c' || fail "beyond the budget"

# Advised memory and a mapping in a gap of it are two mappings, and mremap accepts only one. Memory
# of a program that calls mremap gets no advice, also not by a directive.
cat >hole.c <<'C'
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
enum { kMiB = 1 << 20 };
__attribute__((noinline)) static long walk(const long *a, long n) {
  unsigned long seed = 1;
  long s = 0;
  for (long i = 0; i < 300000; i++)
    s += a[(seed = seed * 6364136223846793005ul + 1442695040888963407ul) % (unsigned long)n];
  return s;
}
int main(void) {
  long *p = mmap(NULL, 64 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    return 77;
  memset(p, 1, 64 * kMiB);
  long s = walk(p, 64 * kMiB / 8);
  munmap((char *)p + 16 * kMiB, 16 * kMiB);
  mmap((char *)p + 16 * kMiB, 16 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  s += walk(p, 64 * kMiB / 8);
  p = mremap(p, 64 * kMiB, 128 * kMiB, MREMAP_MAYMOVE);
  if (p == MAP_FAILED) {
    perror("mremap");
    return 1;
  }
  printf("%ld\n", s + walk(p, 64 * kMiB / 8));
  return 0;
}
C
"$CLANG" -O2 hole.c -o hole.plain
expected=$(./hole.plain)
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-machine=zen4 hole.c -o hole "${LINK_LIBRARY[@]}"
"$SMALLOC" sites hole --json >sites.json
{
  echo '# smalloc.directives/1'
  python3 -c 'import json; [print(s["id"], "page=2m rank=1 pmb=100.0 superpages=32 numa=- #") for s in json.load(open("sites.json"))["sites"]]'
} >hole.directives
for conf in "" directives:hole.directives heap:superpage; do
  SMALLOC_CONF=populate:always,$conf expect_status 0 ./hole
  expect_match out "^$expected\$"
done
