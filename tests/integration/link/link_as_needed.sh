#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# --as-needed does not drop the library if it is linked as the wrappers and helpers do.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_gather
for linker in bfd gold lld; do
  ! misses_linker $linker || continue
  quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fuse-ld="$linker" -Wl,--as-needed gather.c "${LINK_LIBRARY[@]}" -lm -o with
  readelf -dW with | found 'NEEDED.*libsmalloc' || fail "$linker dropped libsmalloc"
  ! readelf -dW with | found 'NEEDED.*libm\.so' || fail "$linker: --as-needed did not survive our flags"
  runs_huge ./with
done
end_thp
