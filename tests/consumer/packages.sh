#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cpack makes four Debian packages. Unpacked together in any folder, they are a working
# installation.
# shellcheck source=tests/consumer/lib.sh
. "$(dirname "$0")/lib.sh"
need_passes
command -v dpkg-shlibdeps >/dev/null || skip "no dpkg-dev"
logged cpack --config "$SMALLOC_BUILD/CPackConfig.cmake" -G DEB -B "$tmp/debs"
mkdir root
for package in libsmalloc0 libsmalloc-dev smalloc-clang-22 smalloc-tools; do
  deb=$(find debs -maxdepth 1 -name "${package}_*.deb")
  [ -n "$deb" ] || fail "no package $package: $(find debs -name '*.deb')"
  logged dpkg-deb -x "$deb" root
  dpkg-deb -f "$deb" Depends >>depends
done
expect_match depends 'libsmalloc0 \(= '
expect_match depends 'clang-22'
# Each file is where Debian users expect it, and in one package only.
for file in bin/smalloc bin/smalloc-cc lib/libsmalloc.so lib/libsmalloc.a lib/pkgconfig/smalloc.pc lib/cmake/Smalloc/SmallocConfig.cmake \
  lib/smalloc/llvm-22/SmallocPlugin.so include/smalloc/site.h share/bash-completion/completions/smalloc share/zsh/vendor-completions/_smalloc \
  share/fish/vendor_completions.d/smalloc.fish share/man/man1/smalloc.1 share/man/man1/smalloc-fc.1; do
  [ -e "root/usr/$file" ] || fail "no /usr/$file in the packages"
done
find debs -maxdepth 1 -name '*.deb' -exec sh -c 'dpkg-deb --fsys-tarfile "$1" | tar t | grep -v "/$"' _ {} \; | sort | uniq -d >twice
[ ! -s twice ] || fail "in two packages: $(cat twice)"
logged root/usr/bin/smalloc-c++ -O2 -x c "$HERE/program/app.c" -x c++ "$HERE/program/part.cpp" -o app
expect_built ./app
