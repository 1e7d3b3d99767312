#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Code compiled for executables may end up in a shared library, which works if it refers to no
# variable of its own. The plugin keeps such links and dlopen working: the counter of its promotion
# points is no obstacle for a linker.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
cat >chain.c <<'C'
struct node { struct node *next; long value; };
long chain(const struct node *n) {
  long s = 0;
  for (; n; n = n->next)
    s += n->value;
  return s;
}
C
cat >open.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
struct node { struct node *next; long value; };
unsigned __smalloc_v1_pending = 1; /* something waits for promotion */
static unsigned long told;
void __smalloc_v1_touching(const void *p, unsigned long misses) { told += misses + !p; }
int main(void) {
  void *library = dlopen("./libchain.so", RTLD_NOW);
  if (!library)
    return puts(dlerror()), 1;
  long (*chain)(const struct node *) = (long (*)(const struct node *))dlsym(library, "chain");
  struct node n = {0, 2};
  long s = 0;
  for (int i = 0; i < 5000; i++)
    s += chain(&n);
  printf("sum %ld told %lu\n", s, told);
  return 0;
}
C
quietly "$CLANG" -O2 open.c -rdynamic -o open
for flags in -fPIE "-fPIE -flto"; do
  for linker in bfd gold lld; do
    case $linker in lld) command -v ld.lld-22 ld.lld >/dev/null || continue ;; *) command -v ld.$linker >/dev/null || continue ;; esac
    # shellcheck disable=SC2086 # several flags
    if ! "$CLANG" -O2 $flags -shared -fuse-ld=$linker chain.c -o libchain.so 2>/dev/null; then
      continue # fails without libsmalloc, too
    fi
    case $flags in *lto*) [ $linker = lld ] || continue ;; esac
    # shellcheck disable=SC2086
    quietly "$CLANG" -O2 -fplugin="$PLUGIN" $flags -shared -fuse-ld=$linker chain.c -o libchain.so
    expect_status 0 ./open
    # If all points have the same value, a link may keep a thunk that does not count.
    expect_match out '^sum 10000 told (77881|80000)$'
    linked=yes
  done
done
[ "${linked:-}" ] || skip "no linker takes such code without us"
