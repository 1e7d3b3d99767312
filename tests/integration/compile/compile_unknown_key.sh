#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Invalid plugin options end the compile with the plugin's message: key, value, machine.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_gather
for wrong in frobnicate=1 heap=enormous model=guess rewrite=some machine=pentium9 machine=/nonexistent/profile.json; do
  expect_status 1 "$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-$wrong -c gather.c -o x.o
  expect_match err 'error:'
  expect_match err "${wrong#*=}|${wrong%%=*}"
  expect_match err 'smalloc'
  [ ! -e x.o ] || fail "$wrong: an object was written"
done
printf '{"schema": "something else"}\n' >profile.json
expect_status 1 "$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-machine="$PWD/profile.json" -c gather.c -o x.o
expect_match err 'error:.*profile\.json'
mkdir folder
expect_status 1 "$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-machine="$PWD/folder" -c gather.c -o x.o
expect_match err 'error:'
# Valid options are accepted.
for right in heap=auto heap=guest heap=superpage heap=migrate heap=off model=spread model=paper machine=zen4 machine=native \
  rewrite=candidates rewrite=all root=/ layout=off first-touch=on first-touch=off numa=off; do
  quietly "$CLANG" -O2 -Werror -fplugin="$PLUGIN" -fplugin-arg-smalloc-$right -c gather.c -o x.o
done
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-sites="$PWD/sites" -c gather.c -o x.o
cat sites/* >sites.json || fail "sites=DIR wrote nothing"
expect_match sites.json 'smalloc\.sites/1'
python3 -m json.tool sites/* >/dev/null || fail "sites=DIR wrote something that is not JSON"
