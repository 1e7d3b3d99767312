#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# --gc-sections keeps the sites of the functions that it keeps, with four linkers.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_gather
cat >dead.c <<'C'
#include <stdlib.h>
double dead(size_t n) {
  double *a = malloc(n * n * sizeof *a), sum = 0;
  for (size_t i = 0; i < n * n; i++)
    a[i] = (double)i;
  for (size_t j = 0; j < n; j++)
    for (size_t i = 0; i < n; i++)
      sum += a[i * n + j];
  free(a);
  return sum;
}
C
for linker in bfd gold lld mold; do
  ! misses_linker $linker || continue
  gc=(-fuse-ld="$linker" -Wl,--gc-sections)
  for source in gather dead; do
    quietly "$CLANG" -O2 -fplugin="$PLUGIN" -ffunction-sections -fdata-sections -c $source.c -o $source.o
  done
  quietly "$CLANG" "${gc[@]}" gather.o dead.o -o without
  runs_plain ./without
  [ "$(count_sites without)" -ge 2 ] || fail "$linker: the table of sites was dropped"
  quietly "$CLANG" "${gc[@]}" gather.o dead.o "${LINK_LIBRARY[@]}" -o with
  runs_huge ./with
done
end_thp
