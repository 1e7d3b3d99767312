#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A promotion point stays cheap while an object waits that it does not touch, perhaps for the whole
# run. Counted: before a short loop of unknown length and a counted one, before one over two
# objects, and before a nest, in instructions over the same program without points; and while
# nothing waits. The golden file has the counts. A more expensive point fails, a cheaper one asks
# for a new golden file.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
. "$SMALLOC_SOURCE/tests/integration/support/counts.bash"
need_thp
cat >loops.c <<'C'
struct node { struct node *next; long value; };
long chain(const struct node *n) {
  long s = 0;
  for (; n; n = n->next)
    s += n->value;
  return s;
}
long gather(const long *a, const int *at, long n) {
  long s = 0;
  for (long i = 0; i < n; i++)
    s += a[at[i]];
  return s;
}
long gather_two(const long *a, const long *b, const int *at, long n) {
  long s = 0;
  for (long i = 0; i < n; i++)
    s += a[at[i]] * b[at[i]];
  return s;
}
long nest(const long *a, const int *at, long m, long n) {
  long s = 0;
  for (long k = 0; k < m; k++)
    for (long i = 0; i < n; i++)
      s += a[at[i] + k * 1000];
  return s;
}
C
cat >main.c <<'C'
#include <stdlib.h>
#include <string.h>
extern unsigned __smalloc_v1_pending __attribute__((weak));
struct node { struct node *next; long value; };
long chain(const struct node *n), gather(const long *a, const int *at, long n), gather_two(const long *a, const long *b, const int *at, long n),
    nest(const long *a, const int *at, long m, long n);
void steps_begin(void), steps_end(void);
int main(int argc, char **argv) {
  long calls = atol(argv[1]), s = 0;
  volatile long two = 2;
  static long a[2000], b[2000];
  static int at[2] = {5, 3};
  struct node last = {0, 3}, first = {&last, 4};
  if (strcmp(argv[3], "waits") == 0) { /* sparse, and hardly walked: it stays waiting */
    long n = 8 << 20, *waiting = malloc(n * sizeof(long));
    waiting[two] = 1;
    for (long i = 0, k = two; i < two; i++, k = (k * 12345 + 7) % n)
      s += waiting[k];
    if (!&__smalloc_v1_pending || !__smalloc_v1_pending)
      abort();
  }
  for (int counted = 0; counted < 2; counted++) {
    if (counted)
      steps_begin();
    switch (argv[2][0]) {
    case 'c': for (long i = 0; i < calls; i++) s += chain(&first); break;
    case 'g': for (long i = 0; i < calls; i++) s += gather(a, at, two); break;
    case 't': for (long i = 0; i < calls; i++) s += gather_two(a, b, at, two); break;
    case 'n': for (long i = 0; i < calls; i++) s += nest(a, at, two, two); break;
    }
  }
  steps_end();
  return s == 0;
}
C
lib=$(dirname "$LIB")
"$CLANG" -O2 loops.c main.c marks.o -o plain
for flags in "" -fPIC; do # as for a shared library
  quietly "$CLANG" -O2 -fplugin="$PLUGIN" $flags loops.c main.c marks.o -o "ours$flags" -L"$lib" -Wl,--no-as-needed -lsmalloc -Wl,-rpath,"$lib"
  ./"ours$flags" 1 c waits || [ $? = 1 ] || fail "nothing waits"
done
count_all() {
  local what kind none
  for what in chain gather two nest; do
    none=$(instructions A=1 plain $what none)
    for kind in none waits; do
      echo "$what, $kind: $((($(instructions A=1 ours $what $kind) - none) / 10))"
    done
  done
  echo "chain in a shared library, waits: $((($(instructions A=1 ours-fPIC chain waits) - $(instructions A=1 plain chain none)) / 10))"
}
compare_counts count_all "$SMALLOC_SOURCE/tests/integration/support/waiting_points.golden"
