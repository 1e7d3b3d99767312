#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs the build and moves the tree to another folder, which the "installed" tests then use.
set -euo pipefail
stage=$SMALLOC_BUILD/tests/consumer/stage
moved=$SMALLOC_BUILD/tests/consumer/moved
rm -rf "$stage" "$moved"
# The files that the demonstration builds are enough to install: the target makes every installed
# file.
if [ -f "$SMALLOC_BUILD/build.ninja" ]; then
  ninja -C "$SMALLOC_BUILD" -t graph installed | sed -n 's/.*\[label="\([^"]*\)"\].*/\1/p' | sort -u >"$SMALLOC_BUILD/tests/consumer/made"
  ninja -C "$SMALLOC_BUILD" -t targets all | sed -n 's/: [A-Z].*//p' | sort >"$SMALLOC_BUILD/tests/consumer/outputs"
  find "$SMALLOC_BUILD" -name cmake_install.cmake -exec grep -ho "\"$SMALLOC_BUILD/[^\"]*\"" {} + | tr -d '"' |
    sed "s|^$SMALLOC_BUILD/||; s/\.so\.[0-9.]*$/.so/" | sort -u | comm -12 - "$SMALLOC_BUILD/tests/consumer/outputs" >"$SMALLOC_BUILD/tests/consumer/wanted"
  grep -q 'libsmalloc.a$' "$SMALLOC_BUILD/tests/consumer/wanted" || { echo "FAIL: no archive among what is installed" >&2; exit 1; }
  unmade=$(comm -23 "$SMALLOC_BUILD/tests/consumer/wanted" "$SMALLOC_BUILD/tests/consumer/made")
  [ -z "$unmade" ] || { echo "FAIL: installed, and not made by the target installed: $unmade" >&2; exit 1; }
fi
# Uninstalling keeps the files of other programs, and removes all of smalloc's.
cmake --install "$SMALLOC_BUILD" --prefix "$stage" >"$SMALLOC_BUILD/tests/consumer/install.log" 2>&1
: >"$stage/bin/theirs"
: >"$stage/include/smalloc/theirs"
cmake --build "$SMALLOC_BUILD" --target uninstall >"$SMALLOC_BUILD/tests/consumer/uninstall.log" 2>&1 || {
  cat "$SMALLOC_BUILD/tests/consumer/uninstall.log" >&2
  exit 1
}
left=$(cd "$stage" && find . ! -type d | sort | tr '\n' ' ')
[ "$left" = "./bin/theirs ./include/smalloc/theirs " ] || { echo "FAIL: uninstall leaves $left" >&2; exit 1; }
left=$(cd "$stage" && find . -type d -iname '*smalloc*' | tr '\n' ' ')
[ "$left" = "./include/smalloc " ] || { echo "FAIL: uninstall leaves the folders $left" >&2; exit 1; }
# The folders that the installation created are gone, but for those that other files need.
left=$(cd "$stage" && find . -type d | sort | tr '\n' ' ')
[ "$left" = ". ./bin ./include ./include/smalloc " ] || { echo "FAIL: uninstall leaves the folders $left" >&2; exit 1; }
rm -rf "$stage"
# A folder that was there before stays although it is empty; without one, nothing is left at all.
for before in share/man ""; do
  [ -z "$before" ] || mkdir -p "$stage/$before"
  { cmake --install "$SMALLOC_BUILD" --prefix "$stage" && cmake --build "$SMALLOC_BUILD" --target uninstall; } \
    >"$SMALLOC_BUILD/tests/consumer/again.log" 2>&1 || {
    cat "$SMALLOC_BUILD/tests/consumer/again.log" >&2
    exit 1
  }
  left=
  [ ! -e "$stage" ] || left=$(find "$stage" | sort | tr '\n' ' ')
  [ "$left" = "${before:+$stage $stage/share $stage/share/man }" ] || { echo "FAIL: uninstall leaves $left" >&2; exit 1; }
  rm -rf "$stage"
done
! cmake --build "$SMALLOC_BUILD" --target uninstall >"$SMALLOC_BUILD/tests/consumer/uninstall.log" 2>&1 ||
  { echo "FAIL: nothing is installed, and uninstall does not say so" >&2; exit 1; }
grep -q 'nothing to uninstall' "$SMALLOC_BUILD/tests/consumer/uninstall.log" || { cat "$SMALLOC_BUILD/tests/consumer/uninstall.log" >&2; exit 1; }
rm -rf "$stage"
cmake --install "$SMALLOC_BUILD" --prefix "$stage" >"$SMALLOC_BUILD/tests/consumer/install.log" 2>&1 || {
  cat "$SMALLOC_BUILD/tests/consumer/install.log" >&2
  exit 1
}
mv "$stage" "$moved"
for file in bin/smalloc bin/smalloc-cc bin/smalloc-c++ bin/smalloc-fc; do
  [ -x "$moved/$file" ] || { echo "FAIL: $file is not in the install tree" >&2; exit 1; }
done
for file in SmallocPlugin.so libsmalloc.so smalloc.cfg smalloc.pc SmallocConfig.cmake site.h smalloc.1 smalloc-try.1 smalloc-cc.1 _smalloc smalloc.fish; do
  [ -n "$(find "$moved" -name "$file")" ] || { echo "FAIL: $file is not in the install tree" >&2; exit 1; }
done
