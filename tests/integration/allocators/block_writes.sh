#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# memset, memcpy and memmove of 2 MiB and more are fill points of a program without the plugin: what
# they write gets superpages before its first touch, and nothing else does. Their results are the C
# library's.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/peaks.bash"
need_thp
build_peaks <<'C'
#include "peaks.h"
#include <stdlib.h>
#include <string.h>
enum { kBytes = 64 << 20, kPart = 3 << 20 };
/* Calls that the compiler neither removes nor replaces. */
static void *(*volatile set)(void *, int, size_t) = memset;
static void *(*volatile copy)(void *, const void *, size_t) = memcpy;
static void *(*volatile move)(void *, const void *, size_t) = memmove;
static void check(const char *p, const char *want, size_t bytes) {
  if (memcmp(p, want, bytes) != 0) abort();
}
int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "";
  char *p = malloc(kBytes), *q = malloc(kBytes), small[64] = "0123456789";
  if (!p || !q) return 1;
  if (!strcmp(mode, "all")) {
    if (set(p, 0, kBytes) != p) return 2; /* zeros: the contents do not show the fill */
    p[kBytes / 3] = 7;
    if (copy(q, p, kBytes) != q) return 3;
    check(q, p, kBytes);
    if (move(p + 5000, p, kBytes - 5000) != p + 5000) return 4; /* overlapping */
    check(p + 5000, q, kBytes - 5000);
    move(p, p + 5000, kBytes - 5000);
    check(p, q, kBytes - 5000);
  } else if (!strcmp(mode, "parts")) { /* a small part of each object */
    set(p + kBytes / 2 + 100, 1, kPart);
    copy(q + kBytes / 4 + 100, p + kBytes / 2 + 100, kPart);
    check(q + kBytes / 4 + 100, p + kBytes / 2 + 100, kPart);
    for (size_t i = 0; i < kBytes; i += 4 << 20) p[i] = 1; /* a page of every other unit */
  } else { /* few bytes */
    move(small + 1, small, 5);
    set(small + 8, 'x', 2);
    copy(small + 20, small, 11);
    printf("%s %s\n", small, small + 20);
  }
  printf("%d\n", p[kBytes / 3] + q[kBytes / 3]);
  print_peaks();
  return 0;
}
C
glibc_peaks few
our_peaks plain heap:auto few
glibc_peaks all
our_peaks plain heap:auto all
[ "$faults" -le $((glibc_faults / 10)) ] || fail "$faults page faults"
[ "$mib" -le $((glibc_mib + glibc_mib / 50 + 6)) ] || fail "$mib MiB"
our_peaks plain promote:off all
[ "$faults" -ge $((glibc_faults * 3 / 4)) ] || fail "promote:off: $faults page faults, so what was tested?"
glibc_peaks parts
our_peaks plain heap:auto parts
# Each part touches two units that it does not fill.
[ "$mib" -le $((glibc_mib + 2 * 4)) ] || fail "parts: $mib MiB"

# The forms with a check: an overflow still ends the program with the C library's message.
cat >checked.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
char room[16];
int main(int argc, char **argv) {
  const int more = atoi(argv[1]), form = atoi(argv[2]);
  if (form == 0) memset(room, argc, (size_t)more);
  if (form == 1) memcpy(room, argv[2], (size_t)more);
  if (form == 2) memmove(room, argv[2], (size_t)more);
  return 0;
}
C
"$CLANG" -O2 -D_FORTIFY_SOURCE=2 checked.c -o checked || fail "does not compile with -D_FORTIFY_SOURCE"
nm -D checked | grep -q '__memset_chk' || skip "this C library has no checked memset"
for form in 0 1 2; do
  LD_PRELOAD=$LIB ./checked 2 $form || fail "form $form: status $?"
  status=0
  LD_PRELOAD=$LIB ./checked 17 $form 2>err || status=$?
  [ $status = 134 ] || fail "form $form, one byte too many: status $status"
  grep -q 'buffer overflow detected' err || fail "form $form: no message: $(cat err)"
done
