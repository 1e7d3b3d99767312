#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cadical: a SAT solver on a big easy random instance; clauses are objects of their own, watches are vectors.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
package=cadical
ok_status=10
build_in() {
  CXXFLAGS="$CXXFLAGS -DNDEBUG" ./configure -q
  sed -i "s|^LIBS=.*|& $LDFLAGS|; s|^CXXFLAGS=.*|CXXFLAGS=$CXXFLAGS -DNDEBUG|" build/makefile
  make -j1 -C build cadical LIBS="$LDFLAGS"
}
binary() { echo "$SMALLOC_WORK/$package/$1/build/cadical"; }
test_in() {
  cd build
  CADICALBUILD=$PWD ../test/cnf/run.sh
}
prepare() {
  [ -s planted-3000000.cnf ] || { python3 "$real_dir/generate.py" planted 3000000 6000000 >p.tmp && mv p.tmp planted-3000000.cnf; }
  [ -s planted-1000000.cnf ] || { python3 "$real_dir/generate.py" planted 1000000 2000000 >p.tmp && mv p.tmp planted-1000000.cnf; }
}
workload() { echo "$(binary "$1") -q $inputs/planted-$([ "$quick" ] && echo 1000000 || echo 3000000).cnf"; }
real_main "$@"
