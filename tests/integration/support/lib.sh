# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# lib.sh: finds the build, makes a scratch folder, and reports failed and skipped tests. Every
# script sources it first: `. "$(dirname "$0")/../support/lib.sh"`.
# shellcheck disable=SC2034 # the variables are for the scripts
set -euo pipefail
: "${SMALLOC_SOURCE:=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)}"
: "${SMALLOC_BUILD:=$SMALLOC_SOURCE/build}"
CLANG=${CLANG:-clang-22}
CLANGXX=${CLANGXX:-clang++-22}
PLUGIN=$SMALLOC_BUILD/lib/SmallocPlugin.so
LIB=$SMALLOC_BUILD/lib/libsmalloc.so
PRELOAD=$LIB
SMALLOC=$SMALLOC_BUILD/bin/smalloc
unset SMALLOC_CONF LD_PRELOAD GLIBC_TUNABLES MALLOC_CONF
tmp=$(mktemp -d "${TMPDIR:-/tmp}/smalloc-test.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export SMALLOC_CONF=populate:always # superpages independent of their first-touch cost on this machine
export XDG_STATE_HOME=$tmp/state # tests have their own histories and reports

# Reports an unchecked command whose failure ends the script.
set -o errtrace
trap 'echo "FAIL: status $? of line $LINENO of ${BASH_SOURCE[0]##*/}: $BASH_COMMAND" >&2' ERR
fail() { echo "FAIL: $*" >&2; exit 1; }
skip() { echo "SKIP: $*"; exit 77; }
# expect_status N CMD...: runs CMD, writes stdout to ./out and stderr to ./err.
expect_status() {
  local want=$1 got=0
  shift
  "$@" >out 2>err || got=$?
  [ "$got" = "$want" ] || { cat out err >&2; fail "exit status $got instead of $want: $*"; }
}
expect_match() { grep -Eq -- "$2" "$1" || { cat "$1" >&2; fail "no /$2/ in $1"; }; }
expect_no_match() { # 1: no match; 2: no such file, or an invalid expression
  local found=0
  grep -Eq -- "$2" "$1" || found=$?
  [ $found = 1 ] || { cat "$1" >&2; fail "unexpected /$2/ in $1 (grep: $found)"; }
}
thp_mode() { sed -n 's/.*\[\(.*\)\].*/\1/p' /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null || echo absent; }
need_thp() { case $(thp_mode) in madvise | always) ;; *) skip "transparent huge pages are $(thp_mode)" ;; esac; }
