#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A link with LTO of functions that return memory of another unit's function, called from several
# places. It links: if one entry refers to another that is not created again, that one still exists.
# The program runs as without the plugin.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
need_linker lld
cat >make.c <<'C'
#include <stdlib.h>
char *make(size_t n) { char *p = malloc(n + 24); if (!p) abort(); p[0] = 1; return p; }
C
cat >load.c <<'C'
#include <stdlib.h>
#include <string.h>
char *make(size_t n);
static __attribute__((noinline)) char *inner(const char *s, size_t n) {
  if (!n) return 0;
  char *p = make(n);
  memcpy(p, s, n);
  return p;
}
static __attribute__((noinline)) char *outer(const char *s, size_t n) {
  char *p = inner(s, n);
  if (!p) abort();
  return p;
}
char *one(const char *s, size_t n) { return outer(s, n); }
char *two(const char *s, size_t n) { char *p = outer(s, n + 1); p[0] = 2; return p; }
char *three(const char *s, size_t n) { return inner(s, n + 2); }
C
cat >main.c <<'C'
#include <stdio.h>
#include <stdlib.h>
char *one(const char *, size_t), *two(const char *, size_t), *three(const char *, size_t), *make(size_t);
int main(int argc, char **argv) {
  static const char text[] = "some text that is long enough";
  char *p[] = {one(text, argc * 4u), two(text, argc * 5u), three(text, argc * 6u), make(10)};
  int s = 0;
  for (int i = 0; i < 4; i++) { s += p[i][0]; free(p[i]); }
  printf("%d\n", s);
  return 0;
}
C
load=(-fuse-ld=lld -Wl,-mllvm,-load="$PLUGIN" -Wl,--load-pass-plugin="$PLUGIN")
"$CLANG" -O2 make.c load.c main.c -o reference
expected=$(./reference)
for kind in full thin; do
  for unit in make load main; do
    quietly "$CLANG" -O2 -fplugin="$PLUGIN" -flto=$kind -c $unit.c -o $kind-$unit.o
  done
  quietly "$CLANG" -O2 -flto=$kind "${load[@]}" $kind-{make,load,main}.o -o $kind
  for preload in "" "$LIB"; do
    expect_status 0 env LD_PRELOAD="$preload" ./$kind
    expect_match out "^$expected\$"
  done
done
