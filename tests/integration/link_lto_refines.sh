#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Full LTO with the plugin in lld: the link sees the allocation in one file and the loop in the other, and refines the
# decision: superpages from birth on, which neither unit alone could decide.
. "$(dirname "$0")/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/build.bash"
need_linker lld
write_gather
cat >alloc.c <<'C'
#include <stdlib.h>
void *make_table(size_t bytes) { return malloc(bytes); }
C
sed -e 's/malloc(COUNT \* sizeof \*table)/make_table(COUNT * sizeof *table)/' \
  -e 's/^double gather(long \*huge_kib);/&\nvoid *make_table(size_t bytes);/' gather.c >split.c
flags=(-O2 -fplugin="$PLUGIN" -flto)
quietly "$CLANG" "${flags[@]}" -c split.c -o split.o
quietly "$CLANG" "${flags[@]}" -c alloc.c -o alloc.o
load=(-fuse-ld=lld -Wl,-mllvm,-load="$PLUGIN" -Wl,--load-pass-plugin="$PLUGIN")
quietly "$CLANG" "${flags[@]}" "${load[@]}" split.o alloc.o "${LINK_LIBRARY[@]}" -o with
runs_huge ./with
end_thp
