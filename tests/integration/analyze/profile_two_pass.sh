#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Build, run, build again. The trace of an instrumented build ranks sites by the TLB misses that
# superpages save. profile-use compiles these decisions in, in place of the compiler's. Bad entries
# are remarks.
. "$(dirname "$0")/../support/lib.sh"
export SMALLOC_CONF=heap:guest,populate:always # only the decisions; heap:auto also gives superpages to filled objects
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
# Two tables of one size, allocated in a way that the compiler cannot distinguish. `hot` is read at
# random, `cold` is written once.
cat >app.c <<'C'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
enum { kBytes = 32 << 20 };
static uint64_t *make_hot(void) { return malloc(kBytes); }
static uint64_t *make_cold(void) { return malloc(kBytes); }
int main(int argc, char **argv) {
  uint64_t *table[2] = {make_hot(), make_cold()}, n = kBytes / 8, x = 1, sum = 0;
  for (int t = 0; t < 2; t++)
    for (uint64_t i = 0; i < n; i++)
      table[t][i] = i;
  int chosen = argc > 5;
  for (int i = 0; i < 3000000; i++) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    sum += table[chosen][(x >> 33) % n];
  }
  printf("%lu\n", (unsigned long)(sum + table[1][argc]));
  return 0;
}
C
plugin=(-O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-machine=zen4)
quietly "$CLANG" "${plugin[@]}" -fplugin-arg-smalloc-profile-generate app.c -o instrumented
expect_status 0 "$SMALLOC" record -q --rate 1 -o t.trace -- ./instrumented
mv out want
expect_status 0 "$SMALLOC" analyze t.trace --machine zen4 --least-pmb 20 -o app.directives --json
expect_no_match err 'no data accesses'
mv out analysis.json
json_is analysis.json 'd["has_accesses"] and d["significant"]'
json_is analysis.json 'd["mappings"][0]["category"]["function"] == "make_hot" and d["mappings"][0]["chosen"]'
# Of 3,000,000 reads over 8,192 pages most miss; on 16 superpages none does.
json_is analysis.json '1e6 < d["mappings"][0]["tlb_misses_base"] - d["mappings"][0]["tlb_misses"] < 3.2e6'
json_is analysis.json 'all(not m["chosen"] for m in d["mappings"][1:])'
hot=$(sed -n 's/^\([0-9a-f]*\) page=2m.*make_hot.*/\1/p' app.directives)
cold=$(sed -n 's/^\([0-9a-f]*\) page=base.*make_cold.*/\1/p' app.directives)
[[ ${#hot} = 16 && ${#cold} = 16 ]] || fail "$(cat app.directives)"

use() { quietly "$CLANG" "${plugin[@]}" -fplugin-arg-smalloc-profile-use="$1" app.c "${LINK_LIBRARY[@]}" -o "$2"; }
decided() { # PROGRAM ID EXPRESSION over s, the site
  "$SMALLOC" sites "$1" --json >sites.json
  python3 - "$2" "$3" <<'PY' || { cat sites.json >&2; fail "$1, $2: not $3"; }
import json, sys
found = [s for s in json.load(open("sites.json"))["sites"] if s["id"] == sys.argv[1]]
sys.exit(not (found and all(eval(sys.argv[2]) for s in found)))
PY
}
use app.directives final
decided final "$hot" 's["decision"] == "superpage" and s["decided_by"] == "profile" and s["rewritten"] and "profile" in s["why"]'
decided final "$cold" 's["decision"] == "base" and s["decided_by"] == "profile"'
expect_status 0 ./final
cmp want out || fail "the final program prints something else"
# Other page sizes are compiled in as well.
sed "s/page=2m/page=64k/" app.directives >medium.directives
use medium.directives medium
decided medium "$hot" 's["decision"] == "runtime" and s["page_bytes"] == 65536 and s["min_bytes"] == 2 << 20 and not s["small_objects"]'
expect_status 0 env SMALLOC_CONF=heap:guest,stats:json,stats_file:medium.json ./medium
cmp want out || fail "the program for pages of 64 KiB prints something else"
json_is medium.json 'd["counters"]["directed_mthp"] == 1 and d["counters"]["superpages_peak"] == 0'
sed "s/page=2m/page=1g/" app.directives >gigantic.directives
use gigantic.directives gigantic
decided gigantic "$hot" 's["decision"] == "superpage" and s["page_bytes"] == 1 << 30'
# With the opposite profile the same source gets the opposite decisions.
sed 's/page=2m/page=SWAP/; s/page=base/page=2m/; s/page=SWAP/page=base/' app.directives >swapped.directives
use swapped.directives swapped
decided swapped "$hot" 's["decision"] == "base"'
decided swapped "$cold" 's["decision"] == "superpage" and s["rewritten"]'
# At run time: the statistics show which site got superpages.
if [ "$(thp_mode)" = madvise ] || [ "$(thp_mode)" = always ]; then
  for program in final swapped; do
    expect_status 0 env SMALLOC_CONF=heap:guest,stats:exit+sites ./$program
    case $program in final) site=make_hot other=make_cold ;; *) site=make_cold other=make_hot ;; esac
    expect_match err "$site"
    expect_no_match err "$other"
  done
fi

# Entries of a directives file that have no effect here are remarks, never errors.
{
  sed 's/machine=[^ ]*/machine=elsewhere/' app.directives
  echo "0000000000000001 page=2m rank=9 pmb=1.0 superpages=1 numa=- # gone app.c:99"
  echo "0000000000000002 page=2m rank=9 pmb=1.0 superpages=1 numa=- # far other.c:1"
  echo nonsense
} >odd.directives
"$CLANG" "${plugin[@]}" -Werror -Wno-error=backend-plugin -Rpass-missed=smalloc -fplugin-arg-smalloc-profile-use=odd.directives -c app.c -o odd.o 2>remarks ||
  fail "$(cat remarks)"
expect_match remarks 'remark: profile: odd.directives:[0-9]+: 1 line is not a directive'
expect_match remarks 'remark: profile: odd.directives: made for machine elsewhere, compiled for zen4'
expect_match remarks 'remark: profile: odd.directives:[0-9]+: no site here has the id 0000000000000001 \(gone app.c:99\)'
expect_no_match remarks '0000000000000002'
# The digest behind the name is part of the command line, so a compiler cache sees changed contents.
digest=$(sha256sum app.directives | cut -c1-12)
use "app.directives#$digest" digested
decided digested "$hot" 's["decided_by"] == "profile"'
"$CLANG" "${plugin[@]}" -Rpass-missed=smalloc "-fplugin-arg-smalloc-profile-use=app.directives#000000000000" -c app.c -o odd.o 2>remarks ||
  fail "$(cat remarks)"
expect_match remarks 'its content is not what the command line says'
if command -v ccache >/dev/null; then
  export CCACHE_DIR=$tmp/ccache
  cached() { # FILE: compiles through the wrapper, which adds the digest
    SMALLOC_CC="ccache $CLANG" "$BIN/smalloc-cc" -O2 -fplugin-arg-smalloc-profile-use="$1" -c app.c -o cached.o || fail "smalloc-cc"
    "$CLANG" cached.o -o cached
  }
  cp app.directives now.directives
  cached now.directives
  decided cached "$hot" 's["decision"] == "superpage"'
  cp swapped.directives now.directives
  cached now.directives
  decided cached "$hot" 's["decision"] == "base"'
fi
# heap=off stays in effect.
quietly "$CLANG" "${plugin[@]}" -fplugin-arg-smalloc-heap=off -fplugin-arg-smalloc-profile-use=app.directives -c app.c -o off.o
! calls_thunk off.o || fail "a directive overruled heap=off"
