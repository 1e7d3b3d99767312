#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# With -Werror -Weverything the plugin causes no warning, compiling or linking; output is
# reproducible.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_gather
quietly "$CLANG" -O2 -Werror -Wall -Wextra -fplugin="$PLUGIN" -c gather.c -o a.o
quietly "$CLANG" -O2 -Werror -Wall -Wextra -fplugin="$PLUGIN" -c gather.c -o b.o
cmp a.o b.o || fail "the same input gives different objects"
quietly "$CLANG" -Werror -fplugin="$PLUGIN" a.o -o program # linking only
quietly "$CLANG" -O2 -Werror -fplugin="$PLUGIN" -fplugin-arg-smalloc-heap=off -c gather.c -o off.o
! calls_thunk off.o || fail "heap=off rewrote a site"
