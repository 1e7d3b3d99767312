// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mixed.c makes objects of all sizes at sites with and without loops that pay for superpages, and
// checks what they hold. For the plugin and without it.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t state = 1;
static uint64_t next(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state >> 33;
}
static void check(int holds) {
  if (!holds)
    abort();
}

static void *wrapped(size_t bytes) {
  void *p = malloc(bytes);
  check(p != NULL);
  return p;
}

__attribute__((noinline)) static long scattered(size_t count) {
  long *array = wrapped(count * sizeof *array), sum = 0;
  for (size_t i = 0; i < count; i++)
    array[i] = (long)i;
  for (size_t i = 0; i < count; i++)
    sum += array[next() % count];
  free(array);
  return sum;
}

__attribute__((noinline)) static long cleared(size_t count) {
  int *array = calloc(count, sizeof *array);
  long sum = 0;
  check(array != NULL);
  for (size_t i = 0; i < count; i++)
    array[next() % count]++;
  array = realloc(array, 2 * count * sizeof *array);
  check(array != NULL);
  for (size_t i = 0; i < count; i++)
    sum += array[i];
  free(array);
  return sum;
}

struct node {
  struct node *next;
  long value;
};
__attribute__((noinline)) static long listed(size_t count) {
  struct node *head = NULL;
  long sum = 0;
  for (size_t i = 0; i < count; i++) {
    struct node *n = malloc(sizeof *n);
    check(n != NULL && (uintptr_t)n % 16 == 0);
    n->next = head, n->value = (long)i, head = n;
  }
  for (struct node *n = head; n; n = n->next)
    sum += n->value;
  while (head) {
    struct node *n = head->next;
    free(head);
    head = n;
  }
  return sum;
}

__attribute__((noinline)) static void resized(size_t count) {
  unsigned char **rows = wrapped(count * sizeof *rows);
  for (size_t i = 0; i < count; i++) {
    const size_t bytes = (next() % 400 + 1) * (i % 64 ? 1 : 200);
    rows[i] = wrapped(bytes);
    memset(rows[i], (int)i, bytes);
  }
  for (size_t i = 0; i < count; i += 2) {
    rows[i] = realloc(rows[i], 900);
    check(rows[i] && rows[i][0] == (unsigned char)i);
  }
  for (size_t i = 0; i < count; i++) {
    check(rows[i][0] == (unsigned char)i);
    free(rows[i]);
  }
  free(rows);
}

int main(void) {
  const size_t count = (size_t)1 << 20; // 8 MiB: beyond the reach of the generic preset
  void *aligned;
  check(posix_memalign(&aligned, 4096, count) == 0 && (uintptr_t)aligned % 4096 == 0);
  memset(aligned, 1, count);
  printf("%ld %ld %ld\n", scattered(count), cleared(count), listed(count / 8));
  fflush(stdout);
  resized(20000);
  const pid_t child = fork();
  check(child >= 0);
  if (child == 0) {
    resized(5000);
    _exit(scattered(count) > 0 ? 0 : 1);
  }
  int status;
  check(waitpid(child, &status, 0) == child && status == 0);
  free(aligned);
  return 0;
}
