#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A site inside the C++ library is shown at the line of the program that caused it, also if the
# library's function was not inlined there. --frames also shows the calls between. --top, --function
# and --min-size leave sites out; totals stay.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
cat >app.cpp <<'C'
#include <cstdlib>
#include <unordered_map>
#include <vector>
namespace app {
struct Index {
  std::unordered_map<long, long> of;
  void add(long key);
};
void Index::add(long key) {
  of[key] = 1; // line 10
}
std::vector<double> cells(long n) {
  return std::vector<double>(n, 2.0); // line 13
}
} // namespace app
double *small_one() { return new double[4]; }
double *large_one(long n) { return (double *)std::malloc((n & 1) * 8 + (8l << 20)); }
double *fixed_one() { return (double *)std::malloc(8l << 20); }
C
quietly "$CLANG" -x c++ -O2 -fPIC -fplugin="$PLUGIN" -fplugin-arg-smalloc-machine=zen4 -fplugin-arg-smalloc-rewrite=all -c app.cpp -o app.o
quietly "$CLANG" -shared app.o -o app.so -lstdc++
expect_status 0 "$SMALLOC" sites app.so
expect_no_match out 'inlined:|_ZN|include/c\+\+'
expect_match out '^app::Index::add\(long\)|^add +app.cpp:10 '
expect_match out 'app.cpp:13 '
expect_match out '^--frames shows the calls that sites were inlined through$'
total=$(sed -n 's/^\([0-9]*\) sites: .*/\1/p' out)
expect_status 0 "$SMALLOC" sites --frames app.so
expect_match out '^    inlined: .*include/c\+\+'
expect_no_match out 'sites were inlined through'
expect_status 0 "$SMALLOC" sites --top 2 app.so
expect_match out "^2 of $total sites shown"
expect_match out "^$total sites: "
expect_status 0 "$SMALLOC" sites --json --top 2 app.so
json_is out "len(d['sites']) == 2 and d['totals']['sites'] == $total"
expect_status 0 "$SMALLOC" sites --json --function 'small_one(' app.so
json_is out '[s["size_bytes"] for s in d["sites"]] == [32]'
expect_status 0 "$SMALLOC" sites --json --function _M_allocate app.so
json_is out 'd["sites"] and all(any(f.startswith("_M_allocate") for f in s["context"]) for s in d["sites"])'
expect_status 0 "$SMALLOC" sites --json --min-size 4m app.so
json_is out '{32} & {s["size_bytes"] for s in d["sites"]} == set() and {8 << 20, None} <= {s["size_bytes"] for s in d["sites"]}'
for wrong in "--top 0" "--top x" "--min-size big"; do
  # shellcheck disable=SC2086
  expect_status 2 "$SMALLOC" sites $wrong app.so
done
