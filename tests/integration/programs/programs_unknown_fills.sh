#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The unit that fills an object reports the fill to the runtime, with sizes known only at run time.
# The object is then on superpages from its first touch, whichever unit allocated it and in whatever
# order it is filled. A sparse object is not.
. "$(dirname "$0")/../support/lib.sh"
need_thp
command -v "$CLANG" >/dev/null || skip "no $CLANG"
cat >main.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void across(float *a, int rows, int columns);
void table(unsigned long *t, unsigned long mask, long n);
void permuted(float *to, const unsigned *at, long n);
void strided(char *a, long n, long step);
void side_by_side(float **f, const float *w, long n);
size_t from_file(char *to, size_t n, FILE *f);
struct image {
  int width, height;
  unsigned char *pixel;
};
struct list {
  int length;
  int *element;
};
void image(struct image *m);
void upwards(struct image *m);
void list(struct list *l);
static unsigned long pages(char mapped[16]) { /* page faults of the process so far */
  FILE *f = fopen("/proc/self/stat", "r");
  unsigned long faults = 0;
  if (!f || fscanf(f, "%*d (%15[^)]) %*c %*d %*d %*d %*d %*d %*u %lu", mapped, &faults) != 2)
    abort();
  fclose(f);
  return faults;
}
int main(int argc, char **argv) {
  const size_t bytes = 64ul << 20;
  char name[16];
  const unsigned long before = pages(name);
  char *p = calloc(1, bytes);
  const char *what = argv[1];
  if (!strcmp(what, "across")) across((float *)p, 4096, 4096);
  if (!strcmp(what, "table")) table((unsigned long *)p, bytes / 8 - 1, argc > 2 ? atol(argv[2]) : 4000000);
  if (!strcmp(what, "permuted")) {
    unsigned *at = malloc(bytes);
    for (unsigned i = 0; i < bytes / 4; i++) at[i] = i * 2654435761u % (unsigned)(bytes / 4);
    permuted((float *)p, at, bytes / 4);
    free(at);
  }
  if (!strcmp(what, "strided")) strided(p, bytes, 8 << 12);
  if (!strcmp(what, "side by side")) {
    static float *f[16], w[16];
    for (int q = 0; q < 16; q++) f[q] = (float *)(p + bytes / 16 * q), w[q] = q;
    side_by_side(f, w, bytes / 16 / sizeof(float));
  }
  struct image m = {8192, (int)(bytes / 8192), (unsigned char *)p};
  if (!strcmp(what, "image")) image(&m);
  if (!strcmp(what, "upwards")) upwards(&m);
  struct list l = {(int)(bytes / sizeof(int)), (int *)p};
  if (!strcmp(what, "list")) list(&l);
  if (!strcmp(what, "file")) {
    FILE *f = fopen("/dev/zero", "r");
    if (from_file(p, bytes, f) != bytes) abort();
    fclose(f);
  }
  unsigned long sum = 0;
  for (size_t i = 0; i < bytes; i += 4096 * 7) sum = sum * 3 + (unsigned char)p[i];
  fprintf(stderr, "faults %lu\n", pages(name) - before);
  printf("%lu\n", sum);
  free(p);
  return 0;
}
C
cat >fills.c <<'C'
#include <stdio.h>
void across(float *a, int rows, int columns) {
  for (int j = 0; j < columns; j++)
    for (int i = 0; i < rows; i++)
      a[(long)i * columns + j] = (float)(i ^ j);
}
void table(unsigned long *t, unsigned long mask, long n) {
  unsigned long x = 88172645463325252ul;
  for (long i = 0; i < n; i++) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    t[x & mask] = x;
  }
}
void permuted(float *to, const unsigned *at, long n) {
  for (long i = 0; i < n; i++) to[at[i]] = (float)i;
}
void strided(char *a, long n, long step) {
  for (long i = 0; i < n; i += step) a[i] = 1;
}
void side_by_side(float **restrict f, const float *restrict w, long n) {
  for (long i = 0; i < n; i++)
#pragma clang loop unroll(disable)
    for (int q = 0; q < 16; q++) f[q][i] = w[q];
}
/* The compiler loads the fields anew in each iteration: the stores might change them. */
struct image {
  int width, height;
  unsigned char *pixel;
};
void image(struct image *m) {
  for (int y = 0; y < m->height; y++)
    for (int x = 0; x < m->width; x++) m->pixel[y * m->width + x] = (unsigned char)(x ^ y);
}
void upwards(struct image *m) {
  for (int y = m->height - 1; y >= 0; y--)
    for (int x = 0; x < m->width; x++) m->pixel[y * m->width + x] = (unsigned char)(x ^ y);
}
struct list {
  int length;
  int *element;
};
void list(struct list *l) {
  for (int i = 0; i < l->length; i++) l->element[i] = i * 3;
}
size_t from_file(char *to, size_t n, FILE *f) { return fread(to, 1, n, f); }
C
build() { # name options...
  for unit in main fills; do
    "$CLANG" -O2 "${@:2}" -c $unit.c || fail "$1: $unit.c does not compile"
  done
  "$CLANG" main.o fills.o -o "$1"
}
build plain
build program -fplugin="$PLUGIN" -fplugin-arg-smalloc-machine=zen4
build untold -fplugin="$PLUGIN" -fplugin-arg-smalloc-machine=zen4 -fplugin-arg-smalloc-first-touch=off
# Excludes the helper thread, and the present cost of superpages on this machine.
export SMALLOC_CONF=promote:calls,populate:always
faults() { # program arguments...
  env LD_PRELOAD="$LIB" "./$1" "${@:2}" >got 2>err || fail "$*: status $?"
  env -u SMALLOC_CONF ./plain "${@:2}" >want 2>/dev/null
  cmp want got || fail "$*: another result"
  sed -n 's/^faults //p' err
}
for what in across table permuted file "side by side" image upwards list; do
  told=$(faults program "$what") untold=$(faults untold "$what")
  echo "$what: $told page faults, without fill points $untold"
  [ "$told" -le 4000 ] || fail "$what: $told page faults for 64 MiB that are told"
  [ "$untold" -ge 12000 ] || fail "$what: $untold page faults without fill points: this test shows nothing"
done
# One page in eight, and one page in ten at random: base pages.
for what in strided "table 1600"; do
  # shellcheck disable=SC2086
  told=$(faults program $what)
  echo "$what: $told page faults"
  [ "$told" -ge 1400 ] || fail "$what: $told page faults: a sparse object is on superpages"
done
