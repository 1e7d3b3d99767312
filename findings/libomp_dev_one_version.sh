#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# libomp-19-dev 19.1.7-3~deb12u1 and libomp-22-dev 22.1.8-1~deb12u1 (Debian 12, LLVM's OpenMP headers).
#
# LLVM's versioned development packages of Debian (llvm-N-dev, libclang-N-dev, clang-N) install side by side. The two
# packages here, which have the headers (omp.h, omp-tools.h) below /usr/lib/llvm-N, do not: both declare a conflict
# with the virtual package libomp-x.y-dev, which both provide. All that they have in common are two compatibility links,
# libiomp5.so and libomp5.so. So the installation of one version's OpenMP headers removes the other's,
# and a build folder that named them no longer configures.
# Exits 0 while that is so, 1 when it has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in libomp-19-dev=1:19.1.7-3~deb12u1 libomp-22-dev=1:22.1.8-1~deb12u1; do
  apt-get download -qq "$package" >/dev/null || { echo "cannot download $package"; exit 1; }
done
changed=0
for n in 19 22; do
  deb=$(echo libomp-$n-dev_*.deb)
  dpkg-deb -f "$deb" Version Provides Conflicts | sed "s/^/libomp-$n-dev /"
  dpkg-deb -f "$deb" Conflicts | grep -q 'libomp-x\.y-dev' || changed=1
  dpkg-deb -c "$deb" | awk '$1 ~ /^[-l]/ {print $6}' | grep -v '/share/doc/' | sort >files.$n
  wc -l <files.$n | sed "s/^/libomp-$n-dev files: /"
done
common=$(comm -12 files.19 files.22)
echo "paths in both: $(xargs <<<"$common")"
[ "$(xargs -n1 basename <<<"$common" | xargs)" = "libiomp5.so libomp5.so" ] || changed=1
deb=$(apt-cache show llvm-19-dev=1:19.1.7-3~deb12u1 | grep -c '^Conflicts:.*llvm-x\.y-dev' || true)
echo "llvm-19-dev conflicts with other versions: $([ "$deb" = 0 ] && echo no || echo yes)"
[ "$deb" = 0 ] || changed=1
if [ $changed = 1 ]; then
  echo "changed"
  exit 1
fi
