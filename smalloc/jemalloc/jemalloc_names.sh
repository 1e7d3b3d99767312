# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# jemalloc_names.sh checks that an archive is a jemalloc whose inner functions jemalloc_functions.h
# and jemalloc_RELEASE.h declare. Sourced: inner_names ARCHIVE FOLDER prints their names, or fails.
# FOLDER has the headers. For another processor, SMALLOC_BINUTILS is the prefix of its binutils'
# names (aarch64-linux-gnu-).
ar() { command "${SMALLOC_BINUTILS-}ar" "$@"; }
ld() { command "${SMALLOC_BINUTILS-}ld" "$@"; }
nm() { command "${SMALLOC_BINUTILS-}nm" "$@"; }
objcopy() { command "${SMALLOC_BINUTILS-}objcopy" "$@"; }
inner_names() {
  found=$(strings -a "$1" | grep -m 1 -E '^[0-9]+\.[0-9]+\.[0-9]+-[0-9]+-g[0-9a-f]+$')
  header=$2/jemalloc_${found%%-*}.h
  if [ -z "$found" ] || ! grep -qsF "#define SMALLOC_JEMALLOC_VERSION \"$found\"" "$header"; then
    known=$(sed -n 's/^#define SMALLOC_JEMALLOC_VERSION "\(.*\)"$/\1/p' "$2"/jemalloc_[0-9]*.h | tr '\n' ' ')
    echo "error: $1: jemalloc ${found:-of no known version}, not one of ${known% }: its inner functions may have other parameters" >&2
    echo "hint: install libjemalloc-dev of Debian 12, 13 or testing, or unpack it and name its file: cmake -DSMALLOC_JEMALLOC_PIC=.../libjemalloc_pic.a" >&2
    echo "hint: to make smalloc work with it, write a jemalloc_RELEASE.h from its headers (tests/integration/project/jemalloc_prototypes.sh)" >&2
    return 1
  fi
  names=$(sed -n 's/^  X([^,]*, \([a-z0-9_]*\), .*/\1/p' "$2/jemalloc_functions.h" "$header")
  defined=$(nm -g --defined-only "$1" 2>/dev/null | sed -n 's/^[0-9a-f]* [TBDVWR] je_//p')
  for name in $names; do
    if ! printf '%s\n' "$defined" | grep -qx "$name"; then
      echo "error: $1: no je_$name, which $header declares" >&2
      return 1
    fi
  done
  printf '%s\n' "$names"
}
