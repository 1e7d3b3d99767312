#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# jemalloc 5.3.0 (Debian 12's libjemalloc2 5.3.0-1) and its option cache_oblivious.
#
# Its change log names opt.cache_oblivious as the alternative at run time to the configure option, its
# manual describes it among the options of MALLOC_CONF, and mallctl reads it. Yet MALLOC_CONF does not
# take it: jemalloc prints that the pair is invalid, and the option stays true. So each large object keeps
# its additional page, and two objects of 1 MiB do not fit into a superpage.
# Exits 0 while that is so, 1 when it has changed.
set -euo pipefail
version=5.3.0-1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq "libjemalloc2=$version" >/dev/null || { echo "cannot download libjemalloc2=$version"; exit 1; }
dpkg -x libjemalloc2_*.deb root
library=$(find "$PWD/root" -name 'libjemalloc.so.2')
cat >option.c <<'C'
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
int mallctl(const char *name, void *old, size_t *old_bytes, void *new_value, size_t new_bytes);
int main(void) {
  bool on = false;
  size_t bytes = sizeof on;
  if (mallctl("opt.cache_oblivious", &on, &bytes, NULL, 0) != 0)
    return puts("mallctl knows no opt.cache_oblivious"), 2;
  puts(on ? "opt.cache_oblivious is true" : "opt.cache_oblivious is false");
  return 0;
}
C
cc option.c "$library" -Wl,-rpath,"$(dirname "$library")" -o option
MALLOC_CONF=cache_oblivious:false ./option >out 2>err
echo "libjemalloc2 $version, MALLOC_CONF=cache_oblivious:false:"
cat err out
if ! grep -q 'Invalid conf pair: cache_oblivious:false' err || ! grep -qx 'opt.cache_oblivious is true' out; then
  echo "changed: the option is taken now"
  exit 1
fi
