#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# IR input: -fpass-plugin compiles .ll and .bc; the result is the same program.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_gather
quietly "$CLANG" -O2 -Xclang -disable-llvm-passes -S -emit-llvm gather.c -o gather.ll
quietly "$CLANG" -O2 -Xclang -disable-llvm-passes -c -emit-llvm gather.c -o gather.bc
for input in gather.ll gather.bc; do
  quietly "$CLANG" -O2 -fpass-plugin="$PLUGIN" $input -o without
  has_sites without || fail "$input: no sites"
  runs_plain ./without
  quietly "$CLANG" -O2 -fpass-plugin="$PLUGIN" $input "${LINK_LIBRARY[@]}" -o with
  runs_huge ./with
done
# IR that is already rewritten stays unchanged.
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -S -emit-llvm gather.c -o rewritten.ll
quietly "$CLANG" -O2 -fpass-plugin="$PLUGIN" rewritten.ll -o twice
quietly "$CLANG" -O2 rewritten.ll -o once
[ "$(count_sites twice)" = "$(count_sites once)" ] || fail "rewritten twice: $(count_sites twice) sites, not $(count_sites once)"
runs_plain ./twice
end_thp
