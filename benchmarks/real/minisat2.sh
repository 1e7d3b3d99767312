#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# minisat2: a SAT solver on a big easy random instance. Unit propagation jumps from watch lists to clauses in one arena
# that grows by realloc.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
package=minisat2
ok_status=10
build_in() {
  make -j1 build/release/bin/minisat_core VERB= CXX="$CXX" MINISAT_REL="$CXXFLAGS -D NDEBUG" \
    MINISAT_CXXFLAGS="-I. -D __STDC_LIMIT_MACROS -D __STDC_FORMAT_MACROS -Wno-everything" \
    MINISAT_LDFLAGS="-lz $LDFLAGS"
}
binary() { echo "$SMALLOC_WORK/$package/$1/build/release/bin/minisat_core"; }
solve() { # FILE: exit status 10 means satisfiable, 20 unsatisfiable
  local status=0
  "$(binary "$1")" -verb=0 "$2" >/dev/null 2>&1 || status=$?
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
  [ -s planted-3000000.cnf ] || { python3 "$real_dir/generate.py" planted 3000000 6000000 >p.tmp && mv p.tmp planted-3000000.cnf; }
  [ -s planted-1000000.cnf ] || { python3 "$real_dir/generate.py" planted 1000000 2000000 >p.tmp && mv p.tmp planted-1000000.cnf; }
}
workload() {
  echo "$(binary "$1") -verb=0 $inputs/planted-$([ "$quick" ] && echo 1000000 || echo 3000000).cnf /dev/stdout"
}
real_main "$@"
