#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# LTO with the plugin in lld as well (full and thin), with allocation and loops in different files:
# each site exists once.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
need_linker lld
write_gather
cat >alloc.c <<'C'
#include <stdlib.h>
void *make_table(size_t bytes) { return malloc(bytes); }
C
sed -e 's/malloc(COUNT \* sizeof \*table)/make_table(COUNT * sizeof *table)/' \
  -e 's/^double gather(long \*huge_kib);/&\nvoid *make_table(size_t bytes);/' gather.c >split.c
for kind in full thin; do
  flags=(-O2 -fplugin="$PLUGIN" -flto="$kind")
  quietly "$CLANG" "${flags[@]}" -c split.c -o split.o
  quietly "$CLANG" "${flags[@]}" -c alloc.c -o alloc.o
  load=(-fuse-ld=lld -Wl,-mllvm,-load="$PLUGIN" -Wl,--load-pass-plugin="$PLUGIN")
  quietly "$CLANG" "${flags[@]}" "${load[@]}" split.o alloc.o -o without
  runs_plain ./without
  quietly "$CLANG" "${flags[@]}" "${load[@]}" split.o alloc.o "${LINK_LIBRARY[@]}" -o with
  expect_status 0 ./with
  expect_match out "^$SUM "
  # The link phase does not list a site a second time.
  sites=$(count_sites without)
  if [ "$sites" -lt 2 ] || [ "$sites" -gt 3 ]; then fail "$kind LTO: $sites sites in a program with two allocations"; fi
done
