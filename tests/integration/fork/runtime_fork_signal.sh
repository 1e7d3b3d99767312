#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# In a process with one thread a signal handler may fork while it interrupts an allocation. Fork
# then takes no lock that the same thread may hold. With several threads, concurrent forks wait for
# each other and continue.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
build t -fno-builtin <<'E'
#include "runtime_sites.h"
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
static volatile int forks, inside, hits;
static time_t began;
/* On a busy machine a tenth of the forks is enough. */
static int late(void) { return time(NULL) - began > 10; }
static void child(void) {
  pid_t pid = fork();
  if (pid == 0) _exit(7);
  int status;
  while (waitpid(pid, &status, 0) != pid) { }
  CHECK(WEXITSTATUS(status) == 7);
}
static void handler(int n) { (void)n; child(); forks++; hits += inside; }
static void *forker(void *n) { (void)n; for (int i = 0; i < 60 && (i < 6 || !late()); i++) { child(); free(malloc((size_t)i * 1000)); } return NULL; }
int main(int argc, char **argv) {
  (void)argv;
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  CHECK(sigaction(SIGALRM, &action, NULL) == 0);
  struct itimerval often = {{0, 700}, {0, 700}}, never = {{0, 0}, {0, 0}};
  void *object[97] = {0};
  /* Superpages that forks break: no thread that repairs them may start in a handler. */
  if (argc > 1)
    memset(malloc(64 * MIB), 1, 64 * MIB);
  began = time(NULL);
  setitimer(ITIMER_REAL, &often, NULL);
  for (unsigned i = 0; forks < 300 && (forks < 30 || !late()); i++) {
    inside = 1;
    free(object[i % 97]);
    object[i % 97] = malloc(i % 1013 == 0 ? 3 * MIB : i * 7919u % 70000); /* arena locks, and libsmalloc's for big objects */
    inside = 0;
    CHECK(object[i % 97]);
  }
  setitimer(ITIMER_REAL, &never, NULL);
  CHECK(hits > 0);
  began = time(NULL);
  pthread_t t[4];
  for (int i = 0; i < 4; i++) CHECK(pthread_create(&t[i], NULL, forker, NULL) == 0);
  for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
  puts("done");
  return 0;
}
E
for conf in heap:superpage heap:auto heap:migrate "heap:superpage,populate:always big"; do
  # shellcheck disable=SC2086 # with and without an argument
  LD_PRELOAD=$PRELOAD SMALLOC_CONF=${conf% big} expect_status 0 timeout 60 ./t ${conf#"${conf% big}"}
  expect_match out '^done$'
done
