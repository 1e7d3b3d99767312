#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# tetgen: a mesher, the Delaunay tetrahedra of random points. Every insertion walks through
# tetrahedra that lie in pool blocks of three quarters of a MiB, all from one site.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
package=tetgen
# Its makefile compiles and links in one command, so $LDFLAGS is added to the compiler's flags. The
# predicates are compiled without optimisation, as in its makefile.
build_in() {
  make -j1 tetgen CXX="$CXX" CXXFLAGS="$CXXFLAGS -Wno-everything $LDFLAGS" PREDCXXFLAGS="-O0 -g0"
}
# The package has no test suite: the package's example, and a mesh that it checks itself.
test_in() {
  ./tetgen -pQ example.poly
  python3 "$real_dir/generate.py" points 3000 >few.node
  ./tetgen -CC few.node >checked
  grep -q 'mesh appears to be consistent' checked
  grep -q 'The mesh is Delaunay' checked
}
prepare() {
  local n
  for n in 40000 400000; do
    [ -s points-$n.node ] || {
      python3 "$real_dir/generate.py" points $n >points.tmp && mv points.tmp points-$n.node
    }
  done
}
# Its report is compared, without the lines with times. It writes no files.
workload() {
  local points=$inputs/points-400000.node
  [ -z "$quick" ] || points=$inputs/points-40000.node
  echo "bash -o pipefail -c \"$SMALLOC_WORK/$package/$1/tetgen -VNEF $points | sed '/seconds/d'\""
}
real_main "$@"
