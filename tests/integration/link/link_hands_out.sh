#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Functions that return memory through an argument. Each call of one is a site of its
# own, decided by the walks of its own array. The program computes the same result; at several
# levels, and with both kinds of LTO.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
cat >main.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#define NOT_INLINE __attribute__((noinline)) static
NOT_INLINE int buffer(double **out, size_t n) {
  *out = malloc(n * sizeof **out);
  return *out ? 0 : -1;
}
NOT_INLINE int deeper(double **out, size_t n) {
  if (n > (size_t)1 << 40) {
    *out = NULL;
    return 22;
  }
  return buffer(out, n);
}
struct sized {
  double *cells;
  size_t n;
};
NOT_INLINE int make(struct sized *s, size_t n) {
  s->n = n;
  return posix_memalign((void **)&s->cells, 64, n * sizeof(double));
}
NOT_INLINE void fill(double *p, long n) {
  for (long i = 0; i < n; i++)
    p[i] = (double)(i % 7);
}
NOT_INLINE double picked(double *p, const int *at, long n) {
  double s = 0;
  for (int t = 0; t < 3; t++)
    for (long i = 0; i < n; i++)
      s += p[at[i]];
  return s;
}
NOT_INLINE double walked(double *p, long n) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s += p[i];
  return s;
}
int main(void) {
  const long n = 3l << 20;
  double *hot, *cold, *deep, *none = (double *)&n;
  struct sized both;
  int *at = malloc((size_t)n * sizeof *at);
  if (!at || buffer(&hot, (size_t)n))
    return 1;
  if (buffer(&cold, (size_t)n))
    return 1;
  if (deeper(&deep, (size_t)n) || make(&both, (size_t)n))
    return 1;
  if (deeper(&none, (size_t)1 << 50) != 22 || none)
    return 1;
  unsigned state = 1;
  for (long i = 0; i < n; i++) {
    state = state * 1664525u + 1013904223u;
    at[i] = (int)(state % (unsigned)n);
  }
  fill(hot, n), fill(cold, n), fill(deep, n), fill(both.cells, n);
  printf("%.0f %.0f %.0f %.0f %zu\n", picked(hot, at, n), walked(cold, n), picked(deep, at, n), picked(both.cells, at, n), both.n);
  free(hot), free(cold), free(deep), free(both.cells), free(at);
  return 0;
}
C
"$CLANG" -O2 main.c -o plain
./plain >expected
flags=(-O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-machine=zen4 -fplugin-arg-smalloc-first-touch=off)
lto=(-fuse-ld=lld -Wl,-mllvm,-load="$PLUGIN" -Wl,--load-pass-plugin="$PLUGIN")
checked() { # FILE: its calls are separate sites, and it runs with and without libsmalloc
  expect_status 0 "$SMALLOC" sites --json "$1"
  python3 - <<'PY'
import json
sites = json.load(open("out"))["sites"]
said = {(s["callee"], "picked at random" in s["why"]) for s in sites}
assert {("buffer", True), ("buffer", False), ("deeper", True)} <= said, said
# If a function is called once, the allocation inside gives more information than the call.
assert {("make", True), ("posix_memalign", True)} & said, said
PY
  expect_status 0 "./$1"
  cmp -s out expected || fail "$1: another result"
  for heap in auto guest superpage; do
    expect_status 0 env SMALLOC_CONF=heap:$heap LD_PRELOAD="$LIB" "./$1"
    cmp -s out expected || fail "$1, heap:$heap: another result"
  done
}
quietly "$CLANG" "${flags[@]}" main.c -o program
checked program
quietly "$CLANG" "${flags[@]}" -O3 -fPIC -pie main.c -o fast
checked fast
if ! misses_linker lld; then
  quietly "$CLANG" "${flags[@]}" -flto "${lto[@]}" main.c -o full
  checked full
  quietly "$CLANG" "${flags[@]}" -flto=thin "${lto[@]}" main.c -o thin
  checked thin
fi
