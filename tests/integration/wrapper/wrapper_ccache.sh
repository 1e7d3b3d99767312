#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A compiler cache never returns an object of another machine file, of other directives or of
# another plugin. The cache stands behind a wrapper or, for the plugin, in front of one.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
command -v ccache >/dev/null || skip "no ccache"
export CCACHE_DIR=$tmp/ccache
unset CCACHE_EXTRAFILES CCACHE_DISABLE CCACHE_PREFIX CCACHE_COMPILERCHECK
write_gather
mkdir -p tree/bin tree/lib/smalloc/llvm-22
cp "$BIN/smalloc-cc" tree/bin/
cp "$PLUGIN" tree/lib/smalloc/llvm-22/SmallocPlugin.so
cp "$SMALLOC_SOURCE/tests/oracle/machine.json" machine.json
printf '# smalloc.directives/1\n' >app.directives

hits() { ccache --print-stats | awk '$1 == "direct_cache_hit" || $1 == "preprocessed_cache_hit" {n += $2} END {print n + 0}'; }
# compiled WANT WHAT CMD...: checks for a hit or a miss.
compiled() {
  local want=$1 what=$2 before
  shift 2
  before=$(hits)
  quietly "$@" -O2 -c gather.c -o gather.o
  [ $(($(hits) - before)) = "$want" ] || fail "$what: $(($(hits) - before)) hits instead of $want"
}
behind() { # WANT WHAT FLAG...
  compiled "$1" "$2" env SMALLOC_CC="ccache $CLANG" tree/bin/smalloc-cc "${@:3}"
}
machine=-fplugin-arg-smalloc-machine=machine.json
behind 0 "first" $machine
behind 1 "the same machine" $machine
sed -i 's/"name": "oracle"/"name": "another"/' machine.json
behind 0 "another machine" $machine
grep -aq another gather.o || fail "the object is not of the other machine"
behind 1 "the same other machine" $machine

directives=-fplugin-arg-smalloc-profile-use=app.directives
behind 0 "with directives" $directives
behind 1 "the same directives" $directives
echo '# one more line' >>app.directives
behind 0 "other directives" $directives

# The user's own list is kept.
echo 1 >list
export CCACHE_EXTRAFILES=$tmp/list
behind 0 "a list of the user's" $machine
behind 1 "the same list" $machine
echo 2 >list
behind 0 "another list" $machine
unset CCACHE_EXTRAFILES

# Files beside the object are written each time, with either name of the option.
for option in sites coverage; do
  for round in 1 2; do
    rm -rf beside
    behind 0 "$option, round $round" "-fplugin-arg-smalloc-$option=$tmp/beside"
    [ -n "$(ls beside)" ] || fail "$option, round $round: nothing written"
  done
done
behind 1 "without what is written beside" $directives

# In front of the wrapper: the cache takes the wrapper for the compiler. The wrapper contains the
# plugin's digest.
[ "$(sed -n 's/^# plugin: //p' "$BIN/smalloc-cc")" = "$(sha256sum <"$PLUGIN" | cut -d' ' -f1)" ] ||
  fail "the wrapper was not stamped with the plugin"
export CCACHE_COMPILERCHECK=content
in_front() { compiled "$1" "$2" ccache tree/bin/smalloc-cc "${@:3}"; }
in_front 0 "in front, first"
in_front 1 "in front, again"
printf 'x' >>tree/lib/smalloc/llvm-22/SmallocPlugin.so
cmake "-DPLUGIN=$tmp/tree/lib/smalloc/llvm-22/SmallocPlugin.so" "-DWRAPPERS=$tmp/tree/bin/smalloc-cc" -P "$SMALLOC_SOURCE/cmake/StampWrappers.cmake"
[ -x tree/bin/smalloc-cc ] || fail "the stamp took the wrapper's mode"
in_front 0 "in front, another plugin"
