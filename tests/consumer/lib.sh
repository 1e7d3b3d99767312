# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# lib.sh: selects the tree for a consumer test, and checks programs built with it. SMALLOC_TREE:
# "build" (the build tree), or "installed" (installed and moved elsewhere by install.sh).
# shellcheck source=tests/integration/support/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../integration/support/lib.sh"
HERE=$SMALLOC_SOURCE/tests/consumer
case ${SMALLOC_TREE:-build} in
build)
  PREFIX=$SMALLOC_BUILD
  LIBDIR=$PREFIX/lib
  ;;
installed)
  PREFIX=$SMALLOC_BUILD/tests/consumer/moved
  # The folder of libraries after `cmake --install`: lib, or lib/<machine>.
  LIBDIR=$(dirname "$(find "$PREFIX" -name libsmalloc.so)")
  ;;
esac
[ -d "$PREFIX" ] || fail "no tree in $PREFIX"
BIN=$PREFIX/bin
PACKAGE=$LIBDIR/cmake/Smalloc
export HERE PREFIX LIBDIR BIN PACKAGE
FC=${FC:-flang-22}
EXPECTED='sum 3145722 part 3145722'

need_passes() {
  grep -q '^SMALLOC_BUILD_PASSES:BOOL=ON' "$SMALLOC_BUILD/CMakeCache.txt" || skip "the plugin is not part of this build"
}
# `| found PATTERN`: a grep that reads to the end, so that the command before it never ends by
# SIGPIPE.
found() { grep "$@" >/dev/null; }
has_sites() { readelf -SW "$1" | found ' smalloc_sites '; }
needs_library() { readelf -dW "$1" | found -E 'NEEDED.*libsmalloc\.so'; }
# expect_built FILE: checks for allocation sites, and runs it with libsmalloc in the process.
expect_built() {
  has_sites "$1" || fail "$1 has no section smalloc_sites: not compiled with the plugin"
  needs_library "$1" || fail "$1 does not need libsmalloc"
  expect_status 0 "$1"
  expect_match out "^$EXPECTED library loaded\$"
}
# logged CMD...: runs CMD, and prints its output only if it fails.
logged() { "$@" >log 2>&1 || { cat log >&2; fail "exit status $?: $*"; }; }
