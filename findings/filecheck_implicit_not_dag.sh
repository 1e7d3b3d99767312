#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# FileCheck of LLVM 19.1.7 and 22.1.8 (Debian 12's llvm-19-tools 1:19.1.7-3~deb12u1 and llvm-22-tools
# 1:22.1.8-1~deb12u1): --implicit-check-not beside CHECK-DAG.
#
# The option forbids a text everywhere between the matches of the check file, before the first and behind the last. With
# plain CHECK lines that is so. If the check file ends in CHECK-DAG lines, the text behind their last match is not searched,
# so a test that lists what must be there by CHECK-DAG and forbids all else by the option accepts any further output at the
# end. Text before the match is searched.
# Exits 0 while that is so, 1 when it has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in llvm-19-tools=1:19.1.7-3~deb12u1 libllvm19=1:19.1.7-3~deb12u1 llvm-22-tools=1:22.1.8-1~deb12u1 \
  libllvm22=1:22.1.8-1~deb12u1; do
  apt-get download -qq "$package" >/dev/null 2>&1 || { echo "cannot download $package"; exit 1; }
done
for deb in *.deb; do dpkg -x "$deb" root; done
printf 'wanted\nforbidden\n' >behind
printf 'forbidden\nwanted\n' >before
echo 'CHECK: wanted' >plain
echo 'CHECK-DAG: wanted' >dag
changed=0
try() { # VERSION CHECKS INPUT STATUS
  local status=0
  LD_LIBRARY_PATH=$PWD/root/usr/lib/llvm-$1/lib:$PWD/root/usr/lib/x86_64-linux-gnu \
    "root/usr/lib/llvm-$1/bin/FileCheck" "$2" --implicit-check-not=forbidden <"$3" >/dev/null 2>&1 || status=$?
  echo "FileCheck $1, $2 checks, forbidden text $3 the match: $([ $status = 0 ] && echo accepted || echo refused)"
  [ $status = "$4" ] || changed=1
}
for version in 19 22; do
  try $version plain behind 1
  try $version plain before 1
  try $version dag behind 0
  try $version dag before 1
done
if [ $changed = 1 ]; then
  echo "changed"
  exit 1
fi
