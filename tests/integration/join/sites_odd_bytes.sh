#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Names of source files may contain any bytes. Output replaces invalid UTF-8, and nothing fails.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_gather
name=$(printf 'caf\xe9.c')
cp gather.c "$name" 2>/dev/null || skip "this file system has no such names"
"$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-rewrite=all "$name" -o app "${LINK_LIBRARY[@]}"
expect_status 0 "$SMALLOC" sites app
grep -aq '^gather *caf' out || fail "no site of the file: $(cat out)"
expect_status 0 "$SMALLOC" sites app --json
python3 -c 'import json; assert any("caf" in s["file"] for s in json.load(open("out", encoding="utf-8"))["sites"])' || fail "no site of the file"
expect_status 0 "$SMALLOC" report app -o r.html
