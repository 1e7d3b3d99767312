#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# tcc: a C compiler on one big generated file, which it then runs in memory. Symbols and tokens are
# small objects on hash chains. Sections grow by realloc. The executed code is in a block of malloc
# that mprotect makes executable.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
package=tcc
triplet() { dpkg-architecture -qDEB_HOST_MULTIARCH; }
build_in() {
  ./configure --cc="$CC" --extra-cflags="$CFLAGS -w" --extra-ldflags="$LDFLAGS" \
    --triplet="$(triplet)"
  make -j1 tcc libtcc1.a
}
command_of() {
  local tree=$SMALLOC_WORK/$package/$1
  echo "$tree/tcc -B$tree -I$tree/include"
}
# It compiles itself, the result does so again, and both make the same object.
test_in() {
  local options=(-B. -I. -Iinclude -DTCC_TARGET_X86_64 "-DCONFIG_TRIPLET=\"$(triplet)\"")
  ./tcc "${options[@]}" -c tcc.c -o first.o
  ./tcc -B. -rdynamic first.o -o second-tcc -lm -ldl -lpthread
  ./second-tcc "${options[@]}" -c tcc.c -o second.o
  cmp first.o second.o
  [ "$(./tcc -B. -I. -Iinclude -run examples/ex3.c 20)" = "fib(20) = 6765" ]
}
prepare() {
  local n
  for n in 40000 10000; do
    [ -s tcc-$n.c ] && continue
    python3 "$real_dir/generate.py" tcc $n >tcc-$n.c.tmp
    mv tcc-$n.c.tmp tcc-$n.c
  done
}
workload() {
  echo "$(command_of "$1") -run $inputs/tcc-$([ "$quick" ] && echo 10000 || echo 40000).c"
}
# The output depends on a small part of the compiled code, so the object files must be equal, too.
extra_check() {
  local variant where=$SMALLOC_WORK/$package
  for variant in plain ours; do
    $(command_of "$variant") -c "$inputs/tcc-10000.c" -o "$where/$variant.o"
  done
  cmp "$where/plain.o" "$where/ours.o" ||
    die "tcc: the object files differ with and without the plugin"
  rm -f "$where"/{plain,ours}.o
}
real_main "$@"
