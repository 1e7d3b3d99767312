#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# mimalloc 3.3.2 and 2.3.2 (crates.io's libmimalloc-sys 0.1.49) and the option MIMALLOC_ALLOW_THP.
#
# By mimalloc's readme, MIMALLOC_ALLOW_THP=0 disables superpages for the process that mimalloc runs
# in. mimalloc does it by prctl(PR_SET_THP_DISABLE), and the kernel keeps this flag across fork and
# execve. So all programs that the process starts have no superpages either, without mimalloc and
# without the variable. The option does not undo it: with MIMALLOC_ALLOW_THP=1 a child on mimalloc
# keeps the flag of its parent.
# A shell runs on mimalloc with MIMALLOC_ALLOW_THP=0 and starts a program that prints the flag
# (PR_GET_THP_DISABLE). The flag is 1 for a child with the same variables, for one without mimalloc
# and the variable, and for one with MIMALLOC_ALLOW_THP=1. Without the option it is 0.
# Exits 0 while that is so, 1 when it has changed, 77 if the flag is set already when it starts.
set -euo pipefail
unset LD_PRELOAD MIMALLOC_ALLOW_THP
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir src
touch src/lib.rs
cat >Cargo.toml <<'T'
[package]
name = "fetch"
version = "0.0.0"
[dependencies]
libmimalloc-sys = "=0.1.49"
T
cargo vendor -q >/dev/null 2>&1 || { echo "cannot download libmimalloc-sys 0.1.49"; exit 1; }
cat >flag.c <<'C'
#include <stdio.h>
#include <sys/prctl.h>
int main(void) {
  printf("%d\n", prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0));
  return 0;
}
C
cc flag.c -o flag
if [ "$(./flag)" != 0 ]; then
  echo "skipped: this process may have no superpages already"
  exit 77
fi
changed=0
for branch in v2 v3; do
  sources=vendor/libmimalloc-sys/c_src/mimalloc/$branch
  cc -O2 -DNDEBUG -DMI_MALLOC_OVERRIDE -fPIC -shared -I "$sources/include" "$sources/src/static.c" \
    -o $branch.so -pthread
  version=$(awk '/#define MI_MALLOC_VERSION/ {print $3}' "$sources/include/mimalloc.h")
  # shellcheck disable=SC2016
  mapfile -t flags < <(MIMALLOC_ALLOW_THP=0 LD_PRELOAD=$PWD/$branch.so bash -c '
    ./flag
    env -u LD_PRELOAD -u MIMALLOC_ALLOW_THP ./flag
    MIMALLOC_ALLOW_THP=1 ./flag')
  usual=$(LD_PRELOAD=$PWD/$branch.so bash -c 'env -u LD_PRELOAD ./flag')
  echo "mimalloc $version, MIMALLOC_ALLOW_THP=0, flag of a child: ${flags[0]};" \
    "of one without mimalloc: ${flags[1]}; of one with MIMALLOC_ALLOW_THP=1: ${flags[2]};" \
    "without the option: $usual"
  [ "${flags[*]} $usual" = "1 1 1 0" ] || changed=1
done
if [ $changed = 1 ]; then
  echo "changed"
  exit 1
fi
