#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# -save-temps turns the source into IR first. The sites exist with -fpass-plugin, or with the
# wrapper.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_gather
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fpass-plugin="$PLUGIN" -save-temps gather.c "${LINK_LIBRARY[@]}" -o with
has_sites with || fail "no sites"
runs_huge ./with
quietly "$BIN/smalloc-cc" -O2 -save-temps=obj gather.c -o with
has_sites with || fail "no sites through the wrapper"
runs_huge ./with
# With -fplugin alone the compile must at least succeed.
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -save-temps gather.c -o without
runs_plain ./without
end_thp
