#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# -z now, -z relro, -z defs and a large code model change nothing.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_gather
for linker in bfd gold lld; do
  ! misses_linker $linker || continue
  hard=(-fuse-ld="$linker" -Wl,-z,now -Wl,-z,relro -Wl,-z,defs)
  quietly "$CLANG" -O2 -fplugin="$PLUGIN" "${hard[@]}" gather.c -o without
  runs_plain ./without
  runs_huge env LD_PRELOAD="$LIB" ./without
  quietly "$CLANG" -O2 -fplugin="$PLUGIN" "${hard[@]}" gather.c "${LINK_LIBRARY[@]}" -o with
  runs_huge ./with
done
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -mcmodel=large gather.c "${LINK_LIBRARY[@]}" -o large
runs_huge ./large
end_thp
