#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Names of files and functions may have any bytes, and long ones are cut. The documents of
# statistics are UTF-8 all the same (RFC 8259, section 8.1), and keep names that are.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
need_thp
latin=$(printf 'caf\351.c') utf8=größe.c
for name in "$latin" "$utf8"; do
  cat >"$name" <<'C'
#include <stdlib.h>
int main(int argc, char **argv) {
  long n = argc * (8l << 20);
  long *a = malloc(n * sizeof *a), sum = 0;
  for (long i = 0; i < n; i++) a[i] = i;
  for (long i = 0; i < n; i += 4099) sum += a[a[i] * 31 % n];
  free(a);
  return sum == 42;
}
C
  "$CLANG" -O2 -g -fplugin="$PLUGIN" "$name" -o app -L"$SMALLOC_BUILD/lib" -lsmalloc -Wl,-rpath,"$SMALLOC_BUILD/lib"
  rm -f doc
  SMALLOC_CONF=stats:json,stats_file:"$PWD/doc" ./app
  python3 -c 'import json, sys; print([s["file"] for s in json.load(open("doc", encoding="utf-8"))["sites"]])' >files
  case $name in
    "$utf8") grep -F "'$utf8'" files >/dev/null || { cat files; fail "the name is not kept"; } ;;
    *) grep -F "'caf?.c'" files >/dev/null || { cat files; fail "the name is not readable"; } ;;
  esac
  expect_status 0 "$SMALLOC" sites ./app
  expect_status 0 "$SMALLOC" sites --json ./app
  json_is out 'len(d["sites"]) == 1'
done
