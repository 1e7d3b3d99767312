#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Full LTO drops a function whose calls all go to its second entry. The link with the plugin must
# not call it again: it would be undefined.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
need_linker lld
cat >lists.c <<'E'
#include <stdlib.h>
struct list { int *at; unsigned size, room; };
__attribute__((noinline)) void push(struct list *l, unsigned n) {
  if (l->size + n > l->room) {
    l->room = 2 * (l->size + n);
    l->at = realloc(l->at, l->room * sizeof *l->at);
  }
  for (unsigned i = 0; i < n; i++)
    l->at[l->size++] = (int)i;
}
long work(unsigned n) {
  struct list l = {0, 0, 0};
  for (unsigned i = 0; i < n; i++)
    push(&l, i);
  long s = 0;
  for (unsigned i = 0; i < l.size; i++)
    s += l.at[(unsigned)l.at[i] % l.size];
  free(l.at);
  return s;
}
E
cat >main.c <<'E'
#include <stdio.h>
long work(unsigned);
int main(void) {
  printf("%ld\n", work(1000));
  return 0;
}
E
quietly "$CLANG" -O2 -flto -fplugin="$PLUGIN" -c lists.c main.c
quietly "$CLANG" -O2 -flto -fplugin="$PLUGIN" -S lists.c -o lists.ll
expect_match lists.ll 'call .*@__smalloc_v1_with_cell_push' # else there is nothing to drop
quietly "$CLANG" -O2 -flto -fuse-ld=lld -Wl,-mllvm,-load="$PLUGIN" -Wl,--load-pass-plugin="$PLUGIN" lists.o main.o -o program -L"$SMALLOC_BUILD/lib" -lsmalloc -Wl,-rpath,"$SMALLOC_BUILD/lib"
"$CLANG" -O1 lists.c main.c -o plain
expect_status 0 ./program
mv out with
expect_status 0 ./plain
cmp out with || fail "another output than without the plugin"
