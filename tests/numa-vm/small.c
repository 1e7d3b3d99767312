/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * small.c: the program for hints of small objects. A thread on each node allocates objects of many
 * sizes. A thread on node 0 touches all of them first (which puts them on node 0), frees those of
 * all others, and allocates as many again. Prints "pages NODE:COUNT ... own N again N objects N
 * superpages KIBIBYTES wrong N": nodes from the kernel for each object's page; own: on the node of
 * the allocating thread; again: of node 0's later objects, on node 0. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kObjects = 24000, kMostNodes = 8, kPiece = 500 };
static size_t size_of(int i) { return 24 + (size_t)(i * 37 % 1000); }

static char *object[kMostNodes][kObjects];
static int nodes = 1;

__attribute__((noinline)) static char *make(size_t bytes) { return malloc(bytes); }

static void run_on(int node) { /* the guest's nodes have one processor each, of the same number */
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(node, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    _exit(1);
}
static void *ask(void *node) {
  const int n = (int)(intptr_t)node;
  run_on(n);
  for (int i = 0; i < kObjects; i++)
    if (!(object[n][i] = make(size_of(i))))
      _exit(1);
  return NULL;
}
/* Counts objects of one allocating thread by the kernel's node. */
static void locate(char **of, size_t on[kMostNodes]) {
  memset(on, 0, kMostNodes * sizeof *on);
  for (int at = 0; at < kObjects; at += kPiece) {
    void *page[kPiece];
    int status[kPiece];
    for (int i = 0; i < kPiece; i++)
      page[i] = (void *)((uintptr_t)of[at + i] & ~(uintptr_t)4095);
    if (syscall(SYS_move_pages, 0, (unsigned long)kPiece, page, NULL, status, 0) != 0)
      _exit(1);
    for (int i = 0; i < kPiece; i++)
      if (status[i] >= 0 && status[i] < kMostNodes)
        on[status[i]]++;
  }
}
static long huge_kib(void) {
  char line[200];
  long sum = 0, one;
  FILE *f = fopen("/proc/self/smaps_rollup", "r");
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "AnonHugePages: %ld", &one) == 1)
      sum += one;
  if (f)
    fclose(f);
  return sum;
}

int main(void) {
  size_t on[kMostNodes], all[kMostNodes] = {0}, own = 0, wrong = 0;
  while (nodes < kMostNodes && nodes < (int)sysconf(_SC_NPROCESSORS_ONLN))
    nodes++;
  run_on(0);
  free(make(100)); /* the heaps start before there are threads */
  pthread_t thread[kMostNodes];
  for (int n = 0; n < nodes; n++)
    if (pthread_create(&thread[n], NULL, ask, (void *)(intptr_t)n) != 0)
      return 1;
  for (int n = 0; n < nodes; n++)
    pthread_join(thread[n], NULL);
  for (int n = 0; n < nodes; n++)
    for (int i = 0; i < kObjects; i++)
      memset(object[n][i], n * 16 + i % 16, size_of(i));
  for (int n = 0; n < nodes; n++) {
    locate(object[n], on);
    own += on[n];
    for (int m = 0; m < kMostNodes; m++)
      all[m] += on[m];
  }
  for (int n = 0; n < nodes; n++)
    for (int i = 0; i < kObjects; i++) {
      wrong += object[n][i][0] != (char)(n * 16 + i % 16) ||
               object[n][i][size_of(i) - 1] != (char)(n * 16 + i % 16);
      if (n > 0)
        free(object[n][i]);
    }
  if (nodes > 1) { /* memory that the others freed must not go to node 0 */
    ask((void *)(intptr_t)0);
    for (int i = 0; i < kObjects; i++)
      memset(object[0][i], 1, size_of(i));
  }
  printf("pages");
  for (int m = 0; m < kMostNodes; m++)
    printf(" %d:%zu", m, all[m]);
  locate(object[0], on);
  printf(" own %zu again %zu objects %d superpages %ld wrong %zu\n", own, on[0], nodes * kObjects,
         huge_kib(), wrong);
  return 0;
}
