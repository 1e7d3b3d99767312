#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# -S, -E, -M, -fsyntax-only, --analyze, assembly input: the plugin neither fails nor adds noise.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_gather
flags=(-O2 -Werror -fplugin="$PLUGIN")
quietly "$CLANG" "${flags[@]}" -S gather.c -o gather.s
expect_match gather.s 'smalloc_sites'
quietly "$CLANG" "${flags[@]}" -S -emit-llvm gather.c -o gather.ll
expect_match gather.ll '__smalloc_v1_'
quietly "$CLANG" "${flags[@]}" -E gather.c -o gather.i
! grep -q smalloc gather.i || fail "-E output changed"
quietly "$CLANG" "${flags[@]}" -M gather.c -MF deps
expect_match deps 'gather\.o:'
quietly "$CLANG" "${flags[@]}" -fsyntax-only gather.c
quietly "$CLANG" -fplugin="$PLUGIN" --analyze gather.c
assemble=(-Werror -fplugin="$PLUGIN")
quietly "$CLANG" "${assemble[@]}" -c gather.s -o from_s.o
cp gather.s gather2.S
quietly "$CLANG" "${assemble[@]}" -c gather2.S -o from_S.o
quietly "$CLANG" "${assemble[@]}" from_s.o -o program
runs_plain ./program
quietly "$CLANG" "${flags[@]}" -c -emit-llvm gather.c -o gather.bc
quietly "$CLANG" "${flags[@]}" -c -MD -MF d -x c - -o stdin.o <gather.c
has_sites stdin.o || fail "no sites from standard input"
