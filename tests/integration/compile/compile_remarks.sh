#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# -Rpass=smalloc names the site by line with and without -g; -fsave-optimization-record contains it
# as well.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_gather
for g in "" -g; do
  # shellcheck disable=SC2086 # no option, or one
  "$CLANG" -O2 $g -fplugin="$PLUGIN" -Rpass=smalloc -Rpass-missed=smalloc -Rpass-analysis=smalloc -c gather.c -o g.o 2>err ||
    fail "compile"
  line=$(grep -n 'double \*table = malloc' gather.c | cut -d: -f1)
  expect_match err "gather\\.c:$line:[0-9]+: remark: .*\\[-Rpass=smalloc\\]"
done
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -c gather.c -o plain.o
! readelf -SW plain.o | found '\.debug_info' || fail "debug sections without -g"
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fsave-optimization-record -foptimization-record-passes=smalloc -c gather.c -o g.o
expect_match g.opt.yaml 'Pass: *smalloc'
