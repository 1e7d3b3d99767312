#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Control-flow integrity, and other function attributes, work with every kind of link. The program
# links and runs, and the second entry of an allocating function, whose address is in a record, is
# found.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
need_linker lld
cat >xmalloc.c <<'C'
#include <stdlib.h>
void *xmalloc(size_t n) {
  void *p = malloc(n);
  if (!p)
    abort();
  return p;
}
C
cat >main.c <<'C'
#include <stdio.h>
#include <stdlib.h>
void *xmalloc(size_t n);
typedef void *(*allocate)(size_t);
allocate how = xmalloc; /* its address is taken, so CFI gives it an entry of a jump table */
extern int smalloc_is_ours(const void *) __attribute__((weak, visibility("default")));
int main(void) {
  long n = 3000000;
  double *a = how(n * sizeof *a), *b = xmalloc(n * sizeof *b), s = 0;
  for (long i = 0; i < n; i++)
    a[i] = b[i] = i;
  for (long i = 0; i < n; i++)
    s += a[(i * 7919) % n] + b[(i * 104729) % n];
  printf("%g %d\n", s, smalloc_is_ours ? smalloc_is_ours(b) : -1);
  free(a);
  free(b);
  return 0;
}
C
cfi="-fsanitize=cfi-icall -fvisibility=hidden"
while read -r flags; do
  read -ra flags <<<"$flags"
  if ! "$CLANG" -O2 "${flags[@]}" main.c xmalloc.c -fuse-ld=lld -o plain >/dev/null 2>&1 || ! ./plain >/dev/null; then
    echo "not here: ${flags[*]}"
    continue
  fi
  for f in main xmalloc; do
    quietly "$CLANG" -O2 "${flags[@]}" -fplugin="$PLUGIN" -fplugin-arg-smalloc-machine=zen4 -c $f.c -o $f.o
  done
  for plugin in "" "-Wl,-mllvm,-load=$PLUGIN -Wl,--load-pass-plugin=$PLUGIN"; do
    [[ -z $plugin || ${flags[*]} = *-flto* ]] || continue
    read -ra link <<<"$plugin"
    quietly "$CLANG" -O2 "${flags[@]}" "${link[@]}" main.o xmalloc.o -fuse-ld=lld -o without
    expect_status 0 ./without
    expect_match out '^9e\+12 -1$'
    quietly "$CLANG" -O2 "${flags[@]}" "${link[@]}" main.o xmalloc.o -fuse-ld=lld "${LINK_LIBRARY[@]}" -o with
    expect_status 0 ./with
    expect_match out '^9e\+12 1$'
  done
done <<F
$cfi -flto=thin
$cfi -flto
$cfi -flto=thin -fsanitize-cfi-canonical-jump-tables
$cfi -flto=thin -fno-sanitize-cfi-canonical-jump-tables
$cfi -flto -fno-sanitize-cfi-canonical-jump-tables
$cfi -flto=thin -fsanitize-cfi-cross-dso
$cfi -flto=thin -fsanitize-cfi-icall-generalize-pointers
-flto=thin -fsplit-lto-unit
-flto -fsplit-lto-unit
-flto=thin -fvisibility=hidden -fwhole-program-vtables
-flto=thin
-fsanitize=kcfi
-fsanitize=kcfi -flto=thin
-fsanitize=kcfi -flto
-fcf-protection
-fcf-protection=branch -flto=thin
-fpatchable-function-entry=5
-fpatchable-function-entry=5,3 -flto=thin
-flto=thin -ffunction-sections
F
