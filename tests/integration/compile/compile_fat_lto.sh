#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# -ffat-lto-objects runs the optimiser twice over one module: each site exists once.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_gather
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -c gather.c -o one.o
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -flto -ffat-lto-objects -c gather.c -o fat.o
[ "$(count_sites fat.o)" = "$(count_sites one.o)" ] || fail "$(count_sites fat.o) sites, not $(count_sites one.o)"
quietly "$CLANG" fat.o "${LINK_LIBRARY[@]}" -o with
runs_huge ./with
quietly "$CLANG" -flto -ffat-lto-objects -fuse-ld=lld fat.o "${LINK_LIBRARY[@]}" -o with
runs_huge ./with
end_thp
