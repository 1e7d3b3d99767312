#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# An invalid plugin option ends the compile with a line that says what to type, under clang and opt.
. "$(dirname "$0")/../support/lib.sh"
[ -e "$PLUGIN" ] || skip "the plugin is not built"
echo 'int x;' >a.c
hint() { # OPTION PATTERN
  expect_status 1 "$CLANG" -O2 -c -fplugin="$PLUGIN" "-fplugin-arg-smalloc-$1" a.c -o a.o
  expect_match err '^error: smalloc: |error: smalloc: '
  expect_match err "^hint: .*$2"
}
hint heap=huge '-fplugin-arg-smalloc-heap=VALUE'
hint haep=split '-fplugin-arg-smalloc-KEY=VALUE'
hint sites=/proc/nowhere 'a directory that you may write to'
hint profile-generate=a.c 'a directory that the program may write to'
hint machine=/nowhere.json 'smalloc machine list'
# A directory of another user is a warning: the program may run as that user.
expect_status 0 "$CLANG" -O2 -c -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate=nowhere/yet a.c -o a.o
[ ! -s err ] || fail "a directory that the program will make: $(cat err)"
expect_status 0 "$CLANG" -O2 -c -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate a.c -o a.o
[ ! -s err ] || fail "$(cat err)"
if [ "$(id -u)" = 0 ]; then
  command -v runuser >/dev/null && id nobody >/dev/null 2>&1 || skip "no runuser, or no user nobody"
  chmod 755 . && as() { runuser -u nobody -- "$@"; }
else
  mkdir locked && chmod 555 locked && as() { "$@"; }
fi
mkdir -p locked && chmod 555 locked
[ -r "$PLUGIN" ] && as test -r "$PLUGIN" || skip "nobody may read the plugin"
expect_status 0 as "$CLANG" -O2 -c -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate="$tmp/locked" a.c -o /dev/null
expect_match err "warning: smalloc: the directory of plugin option 'profile-generate' \\($tmp/locked\\): .*[Pp]ermission denied"
