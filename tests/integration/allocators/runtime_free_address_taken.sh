#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A position-dependent program that takes the address of free. That address is a PLT slot of the
# program, so the program's free is still libsmalloc's.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
build t -fno-pie -no-pie $(linked) <<'E'
#include "runtime_sites.h"
TEST_SITE(site, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
void (*volatile release)(void *) = free;
int main(void) {
  void *p = site_malloc(&site, 8 * MIB);
  CHECK(ours(p));
  release(p);
  return puts("done") < 0;
}
E
readelf --dyn-syms -W t | grep -E 'UND free' | grep -v '0000000000000000' >/dev/null || skip "this linker made no PLT slot for free"
expect_status 0 ./t
expect_match out '^done$'
expect_no_match err warning
