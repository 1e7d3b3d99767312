# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cross.bash: the cross tools, the cross-built libsmalloc, and how a program for aarch64 is compiled
# and run. Sourced instead of lib.sh.
# shellcheck disable=SC2034 # variables are for the scripts
. "$(dirname "${BASH_SOURCE[0]}")/../integration/support/lib.sh"
# Where aarch64's C library is; qemu-user finds the program's libraries there.
SYSROOT=/usr/aarch64-linux-gnu
CROSS=$SMALLOC_BUILD/aarch64
LIBDIR=$CROSS/lib
LIB=$LIBDIR/libsmalloc.so
# qemu-user keeps a table of all reserved pages: the usual 16 times the machine's memory takes it
# seconds, at each fork, too.
# promote:calls: qemu-user 7.2 aborted when the helper thread began beside other threads.
RESERVED=reserve:16g,promote:calls

for tool in aarch64-linux-gnu-g++:g++-aarch64-linux-gnu qemu-aarch64:qemu-user; do
  command -v "${tool%:*}" >/dev/null || skip "no ${tool%:*} (package ${tool#*:}): NOTHING of aarch64 is tested"
done
need_library() { [ -e "$LIB" ] || skip "the library for aarch64 is not built (aarch64_library.sh)"; }
need_plugin() {
  [ -r "$PLUGIN" ] || skip "the plugin is not part of this build"
  command -v "$CLANG" >/dev/null || skip "no $CLANG"
}

# emulated CONF PROGRAM...: runs it with SMALLOC_CONF=CONF. PRELOADED, if set: libraries.
emulated() {
  local conf=$1
  shift
  SMALLOC_CONF=$conf timeout 200 qemu-aarch64 -L "$SYSROOT" ${PRELOADED:+-E LD_PRELOAD="$PRELOADED"} ${PAGE_BYTES:+-p "$PAGE_BYTES"} "$@"
}
# Linking as the wrappers do.
LINK_LIBRARY=(-L"$LIBDIR" -Wl,--push-state,--no-as-needed -lsmalloc -Wl,--pop-state -Wl,-rpath,"$LIBDIR")
TARGET=(--target=aarch64-linux-gnu)
