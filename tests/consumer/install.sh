#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs the build and moves the tree away from where it was installed to: what the "installed" tests then use.
set -euo pipefail
stage=$SMALLOC_BUILD/tests/consumer/stage
moved=$SMALLOC_BUILD/tests/consumer/moved
rm -rf "$stage" "$moved"
cmake --install "$SMALLOC_BUILD" --prefix "$stage" >"$SMALLOC_BUILD/tests/consumer/install.log" 2>&1 || {
  cat "$SMALLOC_BUILD/tests/consumer/install.log" >&2
  exit 1
}
mv "$stage" "$moved"
for file in bin/smalloc bin/smalloc-cc bin/smalloc-c++ bin/smalloc-fc; do
  [ -x "$moved/$file" ] || { echo "FAIL: $file is not in the install tree" >&2; exit 1; }
done
for file in SmallocPlugin.so libsmalloc.so smalloc.cfg smalloc.pc SmallocConfig.cmake site.h; do
  [ -n "$(find "$moved" -name "$file")" ] || { echo "FAIL: $file is not in the install tree" >&2; exit 1; }
done
