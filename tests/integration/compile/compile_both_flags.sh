#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# With both -fplugin and -fpass-plugin, also through a symbolic link, the passes run once.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_gather
ln -s "$PLUGIN" link.so
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -c gather.c -o one.o
quietly "$CLANG" -O2 -fpass-plugin="$PLUGIN" -c gather.c -o pass.o
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fpass-plugin="$PLUGIN" -c gather.c -o both.o
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fpass-plugin="$PWD/link.so" -c gather.c -o symlink.o
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fplugin="$PLUGIN" -c gather.c -o twice.o
for object in pass both symlink twice; do
  [ "$(count_sites $object.o)" = "$(count_sites one.o)" ] || fail "$object: $(count_sites $object.o) sites, not $(count_sites one.o)"
  quietly "$CLANG" $object.o "${LINK_LIBRARY[@]}" -o with
  runs_huge ./with
done
end_thp
