#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pkg-config gives the allocator to any compiler, and clang's flag for the plugin.
# shellcheck source=tests/consumer/lib.sh
. "$(dirname "$0")/../lib.sh"
need_passes
command -v pkg-config >/dev/null || skip "no pkg-config"
export PKG_CONFIG_PATH=$LIBDIR/pkgconfig
pkg-config --exists --print-errors 'smalloc >= 0.1' || fail "pkg-config does not know smalloc"
read -ra cflags < <(pkg-config --cflags smalloc)
read -ra libs < <(pkg-config --libs smalloc)
read -ra plugin < <(pkg-config --variable=clangflags smalloc)
printf '#include <smalloc/site.h>\nint version = SMALLOC_ABI_VERSION;\n' >header.c
logged gcc "${cflags[@]}" -c header.c

logged gcc -O2 -c "$HERE/program/app.c" -o app.o
logged g++ -O2 app.o "$HERE/program/part.cpp" -Wl,--as-needed "${libs[@]}" -o plain
needs_library plain || fail "the linker dropped libsmalloc"
expect_status 0 env LD_LIBRARY_PATH="$LIBDIR" ./plain
expect_match out "^$EXPECTED library loaded\$"

logged "$CLANG" -O2 "${plugin[@]}" -c "$HERE/program/app.c" -o app.o
logged "$CLANGXX" -O2 "${plugin[@]}" app.o "$HERE/program/part.cpp" -Wl,--as-needed "${libs[@]}" -o app
expect_built ./app
