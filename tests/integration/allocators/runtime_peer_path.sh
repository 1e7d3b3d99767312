#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# libsmalloc finds an allocator behind it whatever its folder is called: build-linux contains the
# loader's name.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
mkdir build-linux
cat >peer.c <<'E'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char memory[64 << 20];
static size_t used;
static int freed;
static void *take(size_t n) {
  char *p = memory + used + 16;
  used += (n + 31) & ~(size_t)15;
  return used < sizeof memory ? (*(size_t *)(p - 16) = n, p) : NULL;
}
void *malloc(size_t n) { return take(n); }
void *calloc(size_t a, size_t b) { return take(a * b); }
void *realloc(void *p, size_t n) {
  void *r = take(n);
  if (p && r) { size_t had = *(size_t *)((char *)p - 16); memcpy(r, p, had < n ? had : n); }
  return r;
}
void free(void *p) {
  if (p && !((char *)p > memory && (char *)p < memory + sizeof memory)) abort();
  freed += p != NULL;
}
int peer_freed(void) { return freed; }
E
$CC -O1 -fno-builtin -shared -fPIC peer.c -o build-linux/libpeer.so || fail "the peer does not compile"
build t <<'E'
#include <stdio.h>
#include <stdlib.h>
extern int peer_freed(void) __attribute__((weak));
int main(void) {
  for (int i = 0; i < 100; i++) { void *volatile p = malloc(100); p = realloc(p, 200); free(p); }
  printf("%d\n", peer_freed ? peer_freed() : -1);
  return 0;
}
E
for library in "$LIB" "$PRELOAD"; do
  LD_PRELOAD="$library $PWD/build-linux/libpeer.so" expect_status 0 ./t
  [ "$(cat out)" -ge 100 ] || fail "$library: the peer got $(cat out) of 100 objects back"
done
