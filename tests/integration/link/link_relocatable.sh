#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Objects joined by one linker's -r are linked by any other, with and without --gc-sections, and
# their sites are served.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_gather
cat >dead.c <<'C'
#include <stdlib.h>
double dead(const int *x, size_t n) {
  double *a = malloc(n * sizeof *a), s = 0;
  for (size_t i = 0; i < n; i++)
    a[i] = (double)i;
  for (size_t i = 0; i < n; i++)
    s += a[x[i]];
  free(a);
  return s;
}
C
echo 'int main(void) { return 0; }' >nothing.c
# linked COMMAND...: GNU ld warns that it makes no table for objects that gold joined, if they have
# a COMDAT.
linked() {
  "$@" >log 2>&1 || { cat log >&2; fail "exit status $?: $*"; }
  ! grep -v 'no .eh_frame_hdr table will be created' log || fail "unexpected output: $*"
}
linker_of() { command -v "ld.$1" || echo "/usr/lib/llvm-22/bin/ld.$1"; }
"$CLANG" -O2 -c nothing.c -o nothing.o
for kind in "" -masm=intel; do
  for source in gather dead; do
    quietly "$CLANG" -O2 -ffunction-sections -fdata-sections ${kind:+"$kind"} -fplugin="$PLUGIN" -c $source.c -o $source.o
  done
  for joins in bfd gold lld mold; do
    has_linker $joins || continue
    quietly "$(linker_of $joins)" -r gather.o dead.o -o joined.o
    quietly "$(linker_of $joins)" -r dead.o -o dead_alone.o
    for links in bfd gold lld mold; do
      has_linker $links || continue
      # gold refuses objects that mold joined, if they have a COMDAT.
      [ $joins-$links != mold-gold ] || continue
      for gc in -Wl,--gc-sections -Wl,--no-gc-sections; do
        linked "$CLANG" -fuse-ld=$links $gc joined.o -o without
        has_sites without || fail "$joins -r, $links $gc: no sites"
        runs_plain ./without
        # The sites of uncalled functions may stay or go: the link works in both cases.
        linked "$CLANG" -fuse-ld=$links $gc dead_alone.o nothing.o -o nothing
        expect_status 0 ./nothing
      done
      linked "$CLANG" -fuse-ld=$links -Wl,--gc-sections joined.o "${LINK_LIBRARY[@]}" -o with
      runs_huge ./with
    done
  done
done
end_thp
