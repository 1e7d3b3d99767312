#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A static program whose threads make the superpage heap grow and shrink while another thread forks:
# neither waits for the other, although libc allocates before any constructor has registered
# libsmalloc's fork handlers. posix_memalign aligns its memory as malloc does, however small the
# requested alignment.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
ARCHIVE=$LIBDIR/libsmalloc.a
[ -e "$ARCHIVE" ] || fail "$ARCHIVE is not built"
[ -e "$("$CLANG" -print-file-name=libc.a)" ] || skip "no static C library"
cat >t.c <<'E'
#include "fork_children.h"
#include <pthread.h>
#include <smalloc/smalloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define CHECK(c) do { if (!(c)) printf("line %d: %s\n", __LINE__, #c), exit(1); } while (0)
enum { kObjects = 5000 };
static volatile int stop;
static void *churn(void *unused) {
  static __thread void *object[kObjects];
  while (!stop) {
    for (int i = 0; i < kObjects; i++) CHECK(object[i] = smalloc(3000, SMALLOC_BOTH));
    for (int i = 0; i < kObjects; i++) sfree(object[i]);
    smalloc_trim();
  }
  return unused;
}
static void use(int unused) {
  (void)unused;
  for (int k = 0; k < 20; k++) sfree(smalloc(3000, SMALLOC_BOTH)), free(malloc(100));
}
int main(int argc, char **argv) {
  (void)argv;
  for (int i = 0; i < 100; i++) {
    void *p = NULL;
    CHECK(posix_memalign(&p, 8, i % 9) == 0 && (uintptr_t)p % 16 == 0);
    if (i % 3) free(p);
  }
  pthread_t t[3];
  for (int i = 0; i < 3; i++) CHECK(pthread_create(&t[i], NULL, churn, NULL) == 0);
  fork_children(argc > 1 ? 3 : 1000, use);
  stop = 1;
  for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
  puts("done");
  return 0;
}
E
quietly "$CLANG" -O1 -fno-builtin -static -fno-pie -I"$SMALLOC_SOURCE/smalloc/include" -I"$SMALLOC_SOURCE/tests/integration/support" t.c "$ARCHIVE" -pthread -o t
for heap in guest auto migrate superpage; do
  SMALLOC_CONF=heap:$heap expect_status 0 timeout 60 ./t
  expect_match out '^done$'
done
# Forks while the heaps start: jemalloc registers its fork handlers during one of them.
for _ in {1..60}; do
  SMALLOC_CONF=heap:migrate expect_status 0 timeout 60 ./t few
done
