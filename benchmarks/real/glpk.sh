#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# glpk: a solver of linear programs on a transportation problem. Rows, columns and coefficients
# are linked lists in pools; the simplex method works on arrays made of them.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
package=glpk
build_in() {
  ./configure --disable-dependency-tracking --disable-shared --enable-static
  make -j1 V=1
}
test_in() { make -j1 check; }
prepare() {
  local n
  for n in 180 300; do
    [ -s transport-$n.lp ] || {
      python3 "$real_dir/generate.py" transport $n $n >lp.tmp && mv lp.tmp transport-$n.lp
    }
  done
}
# The solution is compared; the log contains times.
workload() {
  local problem=$inputs/transport-300.lp
  [ -z "$quick" ] || problem=$inputs/transport-180.lp
  echo "bash -c 'exec $SMALLOC_WORK/$package/$1/examples/glpsol --lp $problem" \
    "-o /dev/fd/3 3>&1 >/dev/null'"
}
real_main "$@"
