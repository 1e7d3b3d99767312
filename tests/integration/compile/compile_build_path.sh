#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds in two folders give the same bytes wherever they do without the plugin. The plugin adds no
# folder name.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
cat >s.c <<'C'
#include <stdlib.h>
static double *table, grid[1024][1024];
double big[1024][1024];
static void *take(size_t n) {
  void *p = malloc(n);
  if (!p)
    abort();
  return p;
}
struct image {
  int width, height;
  unsigned char *pixel;
};
void rows(struct image *m) { /* loads three fields before the nest: always in the same order */
  for (int y = 0; y < m->height; y++)
    for (int x = 0; x < m->width; x++)
      m->pixel[y * m->width + x] = x ^ y;
}
void fill(long n) {
  table = take(n * sizeof *table);
  for (long i = 0; i < n; i++)
    table[i] = i;
}
double probe(const int *index, long n) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s += table[index[i]] + grid[index[i] & 1023][i & 1023] + big[index[i] & 1023][i & 1023];
  return s;
}
void set(const int *index, long n, double (*of)(void *)) {
  int *copy = take(n * sizeof *copy);
  for (long i = 0; i < n; i++)
    grid[index[i] & 1023][i & 1023] = big[i & 1023][index[i] & 1023] = copy[i] = index[i];
  of(copy);
}
int main(int argc, char **argv) {
  fill(argc);
  set(&argc, 1, (double (*)(void *))probe);
  return argv[0][0] == (char)probe(&argc, 0);
}
C
cp s.c s.cpp
sed -i 's/^  table = .*/  table = new double[n];/; s/int \*copy = .*/int *copy = new int[n];/' s.cpp
here=$PWD
for d in one another; do
  mkdir -p $d/build $d/src
  cp s.c s.cpp $d/src/
  cp "$SMALLOC_SOURCE/tests/oracle/machine.json" $d/machine.json
done
# built OUT COMMAND...: the output is the same in both folders; @ stands for the folder, as build
# systems call a compiler.
built() {
  local out=$1 d
  shift
  for d in one another; do
    (cd $d/build && quietly "${@//@/$here/$d}" -o "$out")
  done
}
same() { cmp -s "one/build/$1" "another/build/$1"; }
paths() { { grep -aob "$here/one" "one/build/$1" || true; } | wc -l; }
checked=0
# check WHAT COMMAND... %: % stands for the plugin's flags.
check() {
  local what=$1 argument
  shift
  local plain=() with=()
  for argument; do
    case $argument in
    %*)
      with+=("-fplugin=$PLUGIN")
      [ "$argument" = % ] || with+=("${argument#%}")
      ;;
    *) plain+=("$argument") with+=("$argument") ;;
    esac
  done
  built plain "${plain[@]}"
  built with "${with[@]}"
  [ "$(paths with)" -le "$(paths plain)" ] || fail "$what: $(paths with) paths of the build folder, $(paths plain) without us"
  if same plain; then
    same with || fail "$what: not the same in another folder"
    checked=$((checked + 1))
  fi
}
for source in s.c s.cpp; do
  [ $source = s.c ] && cc=$CLANG || cc=$CLANGXX
  for map in -ffile-prefix-map=@=. -ffile-prefix-map=@=/usr/src/package -fmacro-prefix-map=@=. "-fmacro-prefix-map=@/src=a -fdebug-prefix-map=@=b"; do
    read -ra maps <<<"$map"
    for flags in "" -masm=intel -O3 "-g -fdebug-compilation-dir=."; do
      [[ $map = -fmacro-prefix-map=@=. && $flags = -g* ]] && continue # sites use the folder of the debug information
      read -ra more <<<"$flags"
      check "$source $map $flags" "$cc" -O2 "${maps[@]}" "${more[@]}" % -c @/src/$source
    done
    for option in root=@ root=@/src machine=@/machine.json rewrite=all heap=migrate profile-generate; do
      check "$source $map $option" "$cc" -O2 "${maps[@]}" %-fplugin-arg-smalloc-$option -c @/src/$source
    done
    for lto in -flto -flto=thin; do
      check "$source $map $lto" "$cc" -O2 $lto "${maps[@]}" % -c @/src/$source
      check "$source $map $lto machine" "$cc" -O2 $lto "${maps[@]}" %-fplugin-arg-smalloc-machine=@/machine.json -c @/src/$source
      misses_linker lld >/dev/null || check "$source $map $lto linked" "$cc" -O2 $lto -fuse-ld=lld "${maps[@]}" % @/src/$source
    done
  done
  # Files in the compiler's working directory need no map.
  for d in one another; do cp $source $d/build/; done
  check "$source beside" "$cc" -O2 % -c $source
done
[ $checked -ge 60 ] || fail "only $checked builds were the same without us"
# A link with LTO uses the machine profile that the units were compiled for, although its file has
# moved.
if ! misses_linker lld; then
  "$CLANG" -O2 -flto -fplugin="$PLUGIN" -fplugin-arg-smalloc-machine=one/machine.json -c s.c -o s.o
  rm one/machine.json
  quietly "$CLANG" -flto -fuse-ld=lld -Wl,-mllvm,-load="$PLUGIN" -Wl,--load-pass-plugin="$PLUGIN" s.o -o linked
  grep -aq oracle linked || fail "the link has forgotten the machine"
fi
