#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A stripped program keeps its sites and its superpages.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_gather
quietly "$CLANG" -O2 -g -fplugin="$PLUGIN" gather.c "${LINK_LIBRARY[@]}" -o with
before=$(count_sites with)
[ "$before" -ge 2 ] || fail "$before sites in a program with two allocations"
strip --strip-all with
[ "$(count_sites with)" = "$before" ] || fail "strip took sites away"
runs_huge ./with
quietly "$CLANG" -O2 -s -fplugin="$PLUGIN" gather.c "${LINK_LIBRARY[@]}" -o with
runs_huge ./with
end_thp
