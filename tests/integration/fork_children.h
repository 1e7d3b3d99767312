/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * fork_children.h decides what a fork beside busy threads must come to: each child does its work within 20 s and ends by itself.
 */
#ifndef FORK_CHILDREN_H
#define FORK_CHILDREN_H
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Ends the program with 1 where a child does not. */
static inline void fork_children(int count, void (*work)(int number)) {
  for (int i = 0; i < count; i++) {
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
