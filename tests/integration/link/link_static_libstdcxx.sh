#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# -static-libstdc++: operator new and delete are inside the program, which behaves the same with and
# without the library.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
cat >v.cpp <<'C'
#include <cstdio>
#include <map>
#include <string>
#include <vector>
int main() {
  std::vector<double> v(8 << 20, 1.0);
  std::map<int, std::string> m;
  double s = 0;
  for (unsigned j = 0; j < 512; j++)
    for (std::size_t i = j; i < v.size(); i += 512) s += v[i];
  for (int i = 0; i < 100000; i++) m[i] = std::string(40, 'x');
  std::printf("%.0f %zu\n", s, m.size());
}
C
for stdlib in "" -static-libstdc++; do
  for pie in -pie -no-pie; do
    # shellcheck disable=SC2086 # no option, or one
    quietly "$CLANGXX" -O2 -fplugin="$PLUGIN" $stdlib $pie -fPIE v.cpp -o without
    # shellcheck disable=SC2086
    quietly "$CLANGXX" -O2 -fplugin="$PLUGIN" $stdlib $pie -fPIE v.cpp "${LINK_LIBRARY[@]}" -o with
    for run in "" "LD_PRELOAD=$LIB" "LD_PRELOAD=$PRELOAD"; do
      expect_status 0 env ${run:+"$run"} ./without
      expect_match out '^8388608 100000$'
    done
    expect_status 0 ./with
    expect_match out '^8388608 100000$'
  done
done
