#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The option --dependency-file of four linkers of Debian 12: GNU ld and gold of binutils 2.40-2, mold 1.10.1+dfsg-1, lld of
# lld-19 1:19.1.7-3~deb12u1; and ninja 1.11.1-2~deb12u1, which reads such files.
#
# The option writes the names of all inputs as a make rule, so that a build tool links again when a library changes. A
# library whose folder has a space in its name is written as it is by GNU ld, gold and mold, which makes two names of it. Only
# lld writes a backslash before the space. With the other three ninja finds that the first half is missing, and links again
# at each call, although nothing has changed. (CMake 3.31 passes the option with GNU ld 2.44 by itself, so a project there is
# linked at each build once a library lies in such a folder.)
# Exits 0 while that is so, 1 when it has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in binutils-x86-64-linux-gnu=2.40-2 libbinutils=2.40-2 libctf-nobfd0=2.40-2 libctf0=2.40-2 mold=1.10.1+dfsg-1 \
  lld-19=1:19.1.7-3~deb12u1 libllvm19=1:19.1.7-3~deb12u1 ninja-build=1.11.1-2~deb12u1; do
  apt-get download -qq "$package" >/dev/null || { echo "cannot download $package"; exit 1; }
done
for deb in *.deb; do dpkg -x "$deb" root; done
export LD_LIBRARY_PATH=$PWD/root/usr/lib/x86_64-linux-gnu:$PWD/root/usr/lib/llvm-19/lib
mkdir 'my library'
echo 'int part(void) { return 0; }' >part.c
echo 'int part(void); int _start(void) { return part(); }' >main.c
cc -c -fPIC part.c main.c
ar rc 'my library/libpart.a' part.o
changed=0
try() { # NAME LINKER again|quiet
  printf 'rule link\n  command = %s main.o "my library/libpart.a" --dependency-file=$out.d -o $out\n  depfile = $out.d\nbuild %s: link main.o\n' "$2" "$1" >build.ninja
  root/usr/bin/ninja >/dev/null
  local second=quiet
  root/usr/bin/ninja | grep 'no work to do' >/dev/null || second=again
  echo "$1: writes $(grep -o -m 1 'my.*library/libpart\.a' "$1.d"); a second ninja $([ $second = again ] && echo "links again" || echo "has no work to do")"
  [ $second = "$3" ] || changed=1
}
try ld root/usr/bin/x86_64-linux-gnu-ld.bfd again
try gold root/usr/bin/x86_64-linux-gnu-ld.gold again
try mold root/usr/bin/mold again
try lld root/usr/lib/llvm-19/bin/ld.lld quiet
if [ $changed = 1 ]; then
  echo "changed"
  exit 1
fi
