/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * fork_children.h: forks children beside busy threads. Each child must finish its work within 20 s
 * and end normally. On a busy machine it forks fewer of them: after FORK_SECONDS it stops at a
 * tenth. */
#ifndef FORK_CHILDREN_H
#define FORK_CHILDREN_H
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
enum { FORK_SECONDS = 15 };

/* Forks `count` children, each of which calls `work`. Exits with 1 if a child fails. */
static inline void fork_children(int count, void (*work)(int number)) {
  const time_t began = time(NULL);
  for (int i = 0; i < count && (i < count / 10 || time(NULL) - began < FORK_SECONDS); i++) {
    pid_t child = fork();
    if (child == 0) {
      alarm(20);
      work(i);
      _exit(0);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
      printf("child %d of %d did not end well\n", i, count);
      exit(1);
    }
  }
}
#endif
