#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# qhull: the Delaunay triangulation of points in space. Facets, vertices and sets come from a pool
# of its own on top of malloc; each new point walks from neighbour to neighbour through all of them.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
package=qhull
build_in() {
  mkdir -p lib bin
  make -j1 bin/rbox bin/qconvex bin/qdelaunay bin/testqset CC="$CC" \
    CC_OPTS1="-Isrc/ $CFLAGS -w" CC_OPTS2="$CFLAGS $LDFLAGS"
}
binary() { echo "$SMALLOC_WORK/$package/$1/bin/$2"; }
# The package's test of its sets, hulls that it verifies itself, and a cube with a known volume.
test_in() {
  "$(binary "$1" testqset)" 1000
  "$(binary "$1" rbox)" 2000 s t1 >sphere.txt
  "$(binary "$1" qconvex)" Tv Fv <sphere.txt >sphere.out
  "$(binary "$1" qdelaunay)" Tv Qt i <sphere.txt >delaunay.out
  "$(binary "$1" rbox)" c G2 D3 >cube.txt
  "$(binary "$1" qconvex)" FS <cube.txt >cube.out
  grep -Eq '^2 +96 +64 *$' cube.out
}
prepare() {
  local n
  for n in 100000 20000; do
    [ -s qhull-$n.txt ] && continue
    python3 "$real_dir/generate.py" qhull $n >qhull-$n.txt.tmp
    mv qhull-$n.txt.tmp qhull-$n.txt
  done
}
workload() {
  local points
  points=$([ "$quick" ] && echo 20000 || echo 100000)
  echo "$(binary "$1" qdelaunay) Qt i TI $inputs/qhull-$points.txt"
}
real_main "$@"
