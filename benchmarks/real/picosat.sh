#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# picosat: a SAT solver on a big easy random instance. Every clause is an object of its own, linked
# into the watch lists of two literals: unit propagation chases pointers through millions of them.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
package=picosat
ok_status=10
build_in() {
  CFLAGS="$CFLAGS -DNDEBUG -w" ./configure.sh
  make -j1 picosat
}
binary() { echo "$SMALLOC_WORK/$package/$1/picosat"; }
solve() { # VARIANT FILE: exit status 10 means satisfiable, 20 unsatisfiable
  local status=0
  "$(binary "$1")" -n "$2" >/dev/null 2>&1 || status=$?
  echo "$status"
}
# The package has no test suite: known answers of both kinds.
test_in() {
  python3 "$real_dir/generate.py" planted 200 800 >sat.cnf
  python3 "$real_dir/generate.py" ksat 150 900 >unsat.cnf
  [ "$(solve "$1" sat.cnf)" = 10 ]
  [ "$(solve "$1" unsat.cnf)" = 20 ]
}
prepare() {
  local n
  for n in 1000000 250000; do
    [ -s planted-$n.cnf ] && continue
    python3 "$real_dir/generate.py" planted $n $((2 * n)) >planted-$n.cnf.tmp
    mv planted-$n.cnf.tmp planted-$n.cnf
  done
}
workload() {
  echo "$(binary "$1") $inputs/planted-$([ "$quick" ] && echo 250000 || echo 1000000).cnf"
}
real_main "$@"
