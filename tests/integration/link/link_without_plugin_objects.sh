#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Rewritten and plain objects (gcc's, too) link together and free each other's memory.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_gather
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -DTABLE_ONLY -c gather.c -o table.o
quietly gcc -O2 -DMAIN_ONLY -c gather.c -o main.o
quietly gcc table.o main.o -o without
runs_plain ./without
quietly gcc table.o main.o "${LINK_LIBRARY[@]}" -o with
runs_huge ./with
end_thp
