#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pthread_setspecific calls calloc in a process with more than 32 keys. Creating a thread's cache of
# the class heap must not recurse through that call.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
build t <<'E'
#include "runtime_sites.h"
#include <pthread.h>
static void *allocate(void *unused) {
  for (int i = 0; i < 1000; i++) {
    char *volatile p = malloc(100);
    CHECK(p);
    memset(p, 1, 100);
    free(p);
  }
  return unused;
}
int main(void) {
  pthread_key_t key;
  for (int i = 0; i < 40; i++) CHECK(pthread_key_create(&key, NULL) == 0);
  for (int i = 0; i < 80000; i++) { /* the class heap exists */
    char *volatile p = malloc(100);
    memset(p, 1, 100);
  }
  const size_t before = status_kb("VmRSS:");
  for (int i = 0; i < 20; i++) {
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    CHECK(pthread_attr_setstacksize(&attributes, 256 << 10) == 0);
    CHECK(pthread_create(&thread, &attributes, allocate, NULL) == 0);
    pthread_join(thread, NULL);
  }
  CHECK(status_kb("VmRSS:") < before + 8 * 1024);
  puts("ok");
  return 0;
}
E
SMALLOC_CONF=heap:migrate LD_PRELOAD=$PRELOAD expect_status 0 ./t
expect_match out '^ok$'
