#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# libsmalloc builds for aarch64, shared and static, without warnings. It defines the same names as
# the library for this machine, and has as little thread-local storage.
. "$(dirname "$0")/cross.bash"
version=$(dpkg-query -W -f '${Version}' libjemalloc-dev 2>/dev/null) || skip "no libjemalloc-dev: not a Debian system"
packages=${XDG_CACHE_HOME:-$HOME/.cache}/smalloc/arm64-jemalloc-$version
jemalloc=$packages/usr/lib/aarch64-linux-gnu/libjemalloc_pic.a
if [ ! -e "$jemalloc" ]; then
  [ -z "${SMALLOC_NO_INSTALL:-}" ] || skip "jemalloc for arm64 is not in $packages, and nothing may be downloaded"
  "$SMALLOC_SOURCE/scripts/foreign-package" arm64 "$packages" libjemalloc-dev || skip "jemalloc for arm64 cannot be downloaded"
fi
rm -f "$LIB"
cmake -S "$SMALLOC_SOURCE" -B "$CROSS" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSMALLOC_WERROR=ON \
  -DCMAKE_TOOLCHAIN_FILE="$SMALLOC_SOURCE/cmake/aarch64-linux-gnu.cmake" -DSMALLOC_JEMALLOC_PIC="$jemalloc" >log 2>&1 ||
  { cat log && fail "CMake cannot configure the cross build"; }
cmake --build "$CROSS" --target smalloc smalloc_archive >log 2>&1 || { cat log && fail "the cross build fails"; }
file -L "$LIB" >kind
expect_match kind 'ARM aarch64'
# Names that the linker or libgcc adds are the processor's own.
names() { nm -D --defined-only "$1" | awk '{print $3}' | sed 's/@.*//' | sort -u; }
names "$LIB" >here
names "$SMALLOC_BUILD/lib/libsmalloc.so" >there
diff there here || fail "other names are defined than in the library for this machine"
all=$(($(readelf -lW "$LIB" | awk '$1 == "TLS" {print $6}')))
inner=$(readelf -sW "$LIB" | awk '$4 == "TLS" && $8 == "je_tsd_tls" {print $3}')
[ $((all - inner)) -le 160 ] || fail "$((all - inner)) bytes of thread-local storage beside jemalloc's $inner"
