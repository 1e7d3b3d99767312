#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A crash handler has its own stack of 8 KiB, of which the kernel uses three or more for the
# registers. It allocates, although the manuals forbid it, and this may be the first object of
# libsmalloc. So the heaps must start, serve and free on little stack; also in a thread with the
# smallest possible stack.
. "$(dirname "$0")/../support/lib.sh"
cat >depth.c <<'C'
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char stack[1 << 18];
static sigjmp_buf back;
static size_t bytes;
static volatile char *top;
static void handler(int signal) {
  char here;
  (void)signal;
  top = &here;
  char *p = malloc(bytes);
  memset(p, 1, bytes);
  free(realloc(p, bytes * 2));
  siglongjmp(back, 1);
}
int main(void) {
  static const size_t sizes[] = {48, 5000, 100000, 5000000, 50000000};
  stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK | SA_NODEFER};
  long most = 0;
  sigaltstack(&own, NULL);
  sigaction(SIGUSR1, &action, NULL);
  for (int i = 0; i < 15; i++) {
    bytes = sizes[i % 5];
    memset(stack, 0x5a, sizeof stack);
    if (!sigsetjmp(back, 1))
      raise(SIGUSR1);
    size_t untouched = 0;
    while (stack[untouched] == 0x5a)
      untouched++;
    long depth = (long)(top - (stack + untouched));
    most = depth > most ? depth : most;
  }
  printf("%ld\n", most);
  return 0;
}
C
cat >thread.c <<'C'
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static void *work(void *unused) {
  void *kept[64] = {0};
  unsigned long x = 1;
  for (int i = 0; i < 2000; i++) {
    x = x * 6364136223846793005ul + 1442695040888963407ul;
    unsigned k = x >> 58;
    free(kept[k]);
    kept[k] = malloc((x >> 30) % (i % 16 ? 4000 : 6000000));
  }
  for (int i = 0; i < 64; i++)
    free(kept[i]);
  return unused;
}
int main(void) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
  for (int i = 0; i < 3; i++) {
    pthread_t thread;
    if (pthread_create(&thread, &attributes, work, NULL) != 0 || pthread_join(thread, NULL) != 0)
      return 1;
  }
  return 0;
}
C
# Symbols are bound at start, because the linker's own stack use is not libsmalloc's.
"${CC:-cc}" -O1 -fno-builtin depth.c -o depth -Wl,-z,now
plain=$(./depth)
"${CC:-cc}" -O1 -fno-builtin thread.c -o thread -Wl,-z,now -pthread
expect_status 0 ./thread
for conf in heap:auto heap:guest heap:superpage heap:migrate heap:superpage,budget:50%; do
  case $conf in *superpage*)
    LD_PRELOAD=$PRELOAD SMALLOC_CONF=$conf,stats:exit expect_status 0 ./depth
    expect_match err 'heaps: +running'
    ;;
  esac
  depth=$(LD_PRELOAD=$PRELOAD SMALLOC_CONF=$conf ./depth)
  [ "$depth" -le 5632 ] || fail "$conf: a handler's stack is used to a depth of $depth bytes, without us $plain"
  LD_PRELOAD=$PRELOAD SMALLOC_CONF=$conf expect_status 0 ./thread
done
