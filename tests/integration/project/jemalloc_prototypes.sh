#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Inner functions of jemalloc: the build refuses an archive of another version, and one without one
# of the names. If a source of jemalloc is available (SMALLOC_JEMALLOC_SOURCE, of release
# SMALLOC_JEMALLOC_SOURCE_RELEASE, by default that of the build's archive), its prototypes equal those
# of smalloc/jemalloc/jemalloc_functions.h and jemalloc_RELEASE.h.
. "$(dirname "$0")/../support/lib.sh"
room=$SMALLOC_SOURCE/smalloc/jemalloc header=$SMALLOC_SOURCE/smalloc/jemalloc/jemalloc_functions.h
archive=$(sed -n 's/^SMALLOC_JEMALLOC_PIC:[A-Z]*=//p' "$SMALLOC_BUILD/CMakeCache.txt")
[ -r "$archive" ] || fail "no archive of jemalloc: $archive"
sh "$room/private_jemalloc.sh" "$archive" "$tmp/out.a" || fail "the archive of this machine is refused"
# The same release at another commit, and a release that no header describes.
for other in 's/(5\.3\.[01]-0-g)[0-9a-f]{7}/\10000000/g' 's/5\.3\.[01](-0-g[0-9a-f]{7})/5.9.9\1/g'; do
  LC_ALL=C sed -E "$other" "$archive" >other.a
  ! sh "$room/private_jemalloc.sh" other.a "$tmp/out.a" 2>err || fail "another version is taken"
  expect_match err '^error: other\.a: jemalloc 5\.(3\.[01]-0-g0000000|9\.9-).*, not one of 5\.3\.0-0-g.* 5\.3\.1-0-g'
done
objcopy --redefine-sym je_arena_decay=je_arena_decaying "$archive" other.a
! sh "$room/private_jemalloc.sh" other.a "$tmp/out.a" 2>err || fail "an archive without arena_decay is taken"
expect_match err '^error: other\.a: no je_arena_decay'

release=$(strings -a "$archive" | sed -nE 's/^([0-9]+\.[0-9]+\.[0-9]+)-[0-9]+-g[0-9a-f]+$/\1/p' | head -n 1)
release=${SMALLOC_JEMALLOC_SOURCE_RELEASE:-$release}
[ -n "${SMALLOC_JEMALLOC_SOURCE-}" ] || { echo "SMALLOC_JEMALLOC_SOURCE is not set: prototypes were not compared"; exit 0; }
# "void * arena_palloc ( tsdn_t * , ... )": without parameter names, and with jemalloc's type names.
plain() {
  sed -E 's/\bjemalloc_thread \*/tsd_t */g; s/\bjemalloc_arena \*/arena_t */g; s/\bjemalloc_cache \*/tcache_t */g; s/\btsdn_t\b/tsd_t/g; s/\*/ * /g; s/[[:space:]]+/ /g;
    s/([a-z_0-9]+ |\* )[a-z_0-9]+ ?([,)])/\1\2/g; s/ ?([(),]) ?/\1/g; s/ +$//'
}
# One declaration a line.
sed -E 's/ *\\?$//' "$header" "$room/jemalloc_$release.h" | tr '\n' ' ' | sed 's/  X(/\n  X(/g' |
  sed -nE 's/^  X\(([^,]*), ([a-z0-9_]*), (\([^()]*\))\).*$/\1 \2\3/p' >declared
plain <declared | sort >ours
sed -E 's/\(.*//; s/.*[ *]//' declared >names
[ "$(wc -l <names)" -ge 6 ] || fail "the header's declarations are not understood"
while read -r name; do
  cat "$SMALLOC_JEMALLOC_SOURCE"/include/jemalloc/internal/*.h "$SMALLOC_JEMALLOC_SOURCE"/src/{jemalloc,tcache,tsd,arena}.c | tr '\n' ' ' |
    grep -oE "[a-z_]+ \*?[[:space:]]*\b$name\([^()]*\)[[:space:]]*[;{]" | head -n 1 | sed 's/[;{]$//'
done <names | plain | sort >theirs
diff ours theirs || fail "jemalloc's prototypes are others"
