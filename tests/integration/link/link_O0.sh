#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# -O0: nothing is analysed; the program links and runs as without the plugin, alone and with the
# library.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_gather
for opt in -O0 -O1 -O2 -O3 -Os -Oz; do
  quietly "$CLANG" $opt -fplugin="$PLUGIN" gather.c -o without
  runs_plain ./without
  quietly "$CLANG" $opt -fplugin="$PLUGIN" gather.c "${LINK_LIBRARY[@]}" -o with
  expect_status 0 ./with
  expect_match out "^$SUM huge_kib"
done
