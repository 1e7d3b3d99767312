#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# -save-temps turns the source into IR first: with -fpass-plugin, or the wrapper, the sites are there.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_gather
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fpass-plugin="$PLUGIN" -save-temps gather.c "${LINK_LIBRARY[@]}" -o with
has_sites with || fail "no sites"
runs_huge ./with
quietly "$BIN/smalloc-cc" -O2 -save-temps=obj gather.c -o with
has_sites with || fail "no sites through the wrapper"
runs_huge ./with
# The plugin alone must at least not fail.
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -save-temps gather.c -o without
runs_plain ./without
end_thp
