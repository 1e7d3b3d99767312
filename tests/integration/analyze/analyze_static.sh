#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The saving of static data is in the ranking but not in a directives file, because directives name
# allocation sites. The suggested next command names the recorded program.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
cat >app.c <<'C'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
enum { kCount = 4 << 20 };
static uint64_t table[kCount]; // 32 MiB
static uint64_t *make_heap(void) { return malloc(kCount * sizeof(uint64_t)); }
int main(int argc, char **argv) {
  uint64_t *heap = make_heap(), x = 1, sum = 0;
  uint64_t *chosen = argc > 1 ? heap : table; // of the other table only one page is touched
  heap[0] = table[0] = 1;
  for (uint64_t i = 0; i < kCount; i++)
    chosen[i] = i;
  for (int i = 0; i < 2000000; i++) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    sum += chosen[(x >> 33) % kCount];
  }
  printf("%lu %s\n", (unsigned long)sum, argv[0]);
  return 0;
}
C
mkdir "my programs"
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate app.c -o "my programs/app"
header() { sed -n "1s/.* $1=\([0-9]*\).*/\1/p" app.directives; }
analyze() { # ARGUMENT...: of the program
  expect_status 0 "$SMALLOC" record -q --rate 1 -o t.trace -- "./my programs/app" "$@"
  expect_status 0 "$SMALLOC" analyze t.trace --machine zen4 --least-pmb 20 --no-db -o app.directives --json
  json_is out 'd["significant"] and d["mappings"][0]["chosen"] and d["chosen"]["saved_cycles_joint"] > 1e7'
}
analyze
json_is out 'd["mappings"][0]["category"]["kind"] == "static"'
expect_match err 'static data is chosen, too, but a directive cannot name it: set SMALLOC_CONF=program:static'
if [ "$(header saved_ms)" != 0 ] || [ "$(header faults_saved)" != 0 ]; then
  fail "the directives promise what static data saves: $(head -n 1 app.directives)"
fi
expect_match err "next: smalloc apply --directives app.directives -- '$tmp/my programs/app'\$"
# With the heap table instead, the file promises its saving.
analyze heap
json_is out 'd["mappings"][0]["category"]["function"] == "make_heap"'
expect_no_match err 'program:static'
[ "$(header saved_ms)" -ge 1 ] || fail "nothing is promised: $(head -n 1 app.directives)"
cp "my programs/app" here
expect_status 0 "$SMALLOC" record -q --rate 1 -o here.trace -- ./here heap
expect_status 0 "$SMALLOC" analyze here.trace --machine zen4 --no-db -o app.directives
expect_match err 'next: smalloc apply --directives app.directives -- ./here$'
# A rate is printed as a short number in the text output.
expect_status 0 "$SMALLOC" record -q --rate 0.3 -o some.trace -- ./here heap
expect_status 0 "$SMALLOC" analyze some.trace --machine zen4 --no-db -o app.directives
expect_match err ' at rate 0\.3(:| )'
# Without accesses all data counts, except smalloc's own.
quietly "$CLANG" -O2 -fplugin="$PLUGIN" app.c -o plain "${LINK_LIBRARY[@]}"
expect_status 0 "$SMALLOC" record -q -o plain.trace -- ./plain
expect_status 0 "$SMALLOC" analyze plain.trace --machine zen4 --no-db --json
json_is out 'any(m["category"]["kind"] == "static" and m["category"]["file"].endswith("/plain") for m in d["mappings"])'
json_is out 'not any(m["category"]["kind"] == "static" and "libsmalloc" in m["category"]["file"] for m in d["mappings"])'
