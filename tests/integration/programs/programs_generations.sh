#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program builds a list and frees all of it, repeatedly. The tenth list needs no more memory than
# the first: the next list reuses the memory of the last one, also if another thread frees it.
. "$(dirname "$0")/../support/lib.sh"
need_thp
cat >generations.c <<'C'
#include <pthread.h>
#include "most_resident.h"
enum { ROUNDS = 10 };
struct node {
  struct node *next;
  long value[5];
};
static struct node *list;
static long nodes, sum;
static pthread_barrier_t turn;
static void build(void) {
  for (long i = 0; i < nodes; i++) {
    struct node *n = malloc(sizeof *n);
    n->value[0] = i, n->value[4] = ~i, n->next = list;
    list = n;
  }
}
static void use(void) {
  for (int k = 0; k < 3; k++)
    for (struct node *n = list; n; n = n->next)
      sum += n->value[0];
  for (struct node *n = list, *next; n; n = next) {
    next = n->next;
    if (n->value[4] != ~n->value[0])
      abort();
    free(n);
  }
  list = NULL;
}
static void *builder(void *unused) {
  for (int r = 0; r < ROUNDS; r++) {
    build();
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
  }
  return unused;
}
int main(int argc, char **argv) {
  nodes = atol(argv[1]);
  pthread_t other;
  if (argc > 2) {
    pthread_barrier_init(&turn, NULL, 2);
    pthread_create(&other, NULL, builder, NULL);
  }
  for (int r = 0; r < ROUNDS; r++) {
    argc > 2 ? pthread_barrier_wait(&turn) : (build(), 0);
    use();
    if (argc > 2)
      pthread_barrier_wait(&turn);
  }
  if (argc > 2)
    pthread_join(other, NULL);
  fprintf(stderr, "%lu\n", most_resident());
  return printf("%lx\n", sum) < 0;
}
C
lib=$(dirname "$LIB")
"$CLANG" -O2 -I"$SMALLOC_SOURCE/tests/integration/fixtures" generations.c -o plain -pthread
"$CLANG" -O2 -I"$SMALLOC_SOURCE/tests/integration/fixtures" -fplugin="$PLUGIN" generations.c -o ours -pthread -L"$lib" -Wl,--no-as-needed -lsmalloc -Wl,-rpath,"$lib"
for arguments in "1000000" "1000000 other"; do
  # shellcheck disable=SC2086 # they are words
  { ./plain $arguments >plain.out 2>plain.kib && ./ours $arguments >ours.out 2>ours.kib; } || fail "$arguments: exit status $?"
  cmp plain.out ours.out || fail "the output differs"
  # shellcheck disable=SC2086
  SMALLOC_CONF=stats:exit ./ours $arguments >/dev/null 2>stats
  expect_match stats 'heaps: +running' # otherwise the test has checked nothing
  plain=$(cat plain.kib) ours=$(cat ours.kib)
  echo "$arguments: most resident: glibc $plain KiB, ours $ours KiB"
  [ "$ours" -le $((plain + plain / 50)) ] || fail "$arguments: $ours KiB, glibc $plain KiB"
done
