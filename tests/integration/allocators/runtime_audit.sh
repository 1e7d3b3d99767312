#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# libsmalloc has at most 160 bytes of thread-local storage, besides jemalloc's. Under an audit
# library (LD_AUDIT) and at dlopen() there is little room for all libraries. `smalloc run` makes
# room; elsewhere use the tunable that docs/compatibility.md names.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
all=$(($(readelf -lW "$LIB" | awk '$1 == "TLS" {print $6}')))
jemalloc=$(readelf -sW "$LIB" | awk '$4 == "TLS" && $8 == "je_tsd_tls" {print $3}')
[ -n "$jemalloc" ] || skip "$LIB is stripped"
[ $((all - jemalloc)) -le 160 ] || fail "$((all - jemalloc)) bytes of thread-local storage beside jemalloc's $jemalloc"
cat >audit.c <<'C'
unsigned la_version(unsigned version) { return version; }
C
"${CC:-cc}" -shared -fPIC audit.c -o audit.so
build t -fno-builtin <<'E'
#include "runtime_sites.h"
int main(void) {
  char *p = (char *)malloc(64 * MIB);
  memset(p, 1, 64 * MIB);
  puts(ours(p) ? "ours" : "not ours");
  free(p);
  return 0;
}
E
tunable=glibc.rtld.optional_static_tls=8192
grep -q "$tunable" "$SMALLOC_SOURCE/docs/compatibility.md" || fail "the tunable is not documented"
LD_AUDIT=./audit.so expect_status 0 ./t
LD_AUDIT=./audit.so GLIBC_TUNABLES=$tunable LD_PRELOAD=$LIB expect_status 0 ./t
expect_match out '^ours$'
LD_AUDIT=./audit.so expect_status 0 "$SMALLOC" run -- ./t
expect_match out '^ours$'
LD_AUDIT=./audit.so GLIBC_TUNABLES=glibc.malloc.check=0 expect_status 0 "$SMALLOC" run --dry-run -- ./t
expect_match out "^GLIBC_TUNABLES=glibc.malloc.check=0:$tunable LD_PRELOAD="
LD_AUDIT=./audit.so GLIBC_TUNABLES=glibc.rtld.optional_static_tls=9000 expect_status 0 "$SMALLOC" run --dry-run -- ./t
expect_no_match out GLIBC_TUNABLES
expect_status 0 "$SMALLOC" run --dry-run -- ./t
expect_no_match out GLIBC_TUNABLES
