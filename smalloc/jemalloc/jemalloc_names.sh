# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# jemalloc_names.sh checks that an archive is the jemalloc whose inner functions
# jemalloc_functions.h declares. Sourced: inner_names ARCHIVE HEADER prints their names, or fails.
inner_names() {
  wanted=$(sed -n 's/^#define SMALLOC_JEMALLOC_VERSION "\(.*\)"$/\1/p' "$2")
  if [ -z "$wanted" ] || ! grep -aqF "$wanted" "$1"; then
    found=$(strings -a "$1" | grep -m 1 -E '^[0-9]+\.[0-9]+\.[0-9]+-[0-9]+-g[0-9a-f]+$')
    echo "error: $1: jemalloc ${found:-of no known version}, not $wanted: its inner functions may have other parameters" >&2
    echo "hint: install libjemalloc-dev of Debian 12 or 13 (5.3.0), or unpack it and name its file: cmake -DSMALLOC_JEMALLOC_PIC=.../libjemalloc_pic.a" >&2
    echo "hint: to make smalloc work with it, compare $2 with its headers (tests/integration/project/jemalloc_prototypes.sh)" >&2
    return 1
  fi
  names=$(sed -n 's/^  X([^,]*, \([a-z0-9_]*\), .*/\1/p' "$2")
  defined=$(nm -g --defined-only "$1" 2>/dev/null | sed -n 's/^[0-9a-f]* [TBDVWR] je_//p')
  for name in $names; do
    if ! printf '%s\n' "$defined" | grep -qx "$name"; then
      echo "error: $1: no je_$name, which $2 declares" >&2
      return 1
    fi
  done
  printf '%s\n' "$names"
}
