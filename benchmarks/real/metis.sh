#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# metis: a graph partitioner on a grid of three dimensions. Coarsening matches vertices in a
# random order, and gathers from arrays of the whole graph that live as long as their level.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
package=metis
# Its makefile only calls cmake, and cmake takes the compiler and its flags from the environment.
build_in() {
  cmake -S . -B build/here -DCMAKE_POLICY_VERSION_MINIMUM=3.5 -DCMAKE_BUILD_TYPE=None
  make -j1 -C build/here
}
test_in() { (cd build/here && ctest --output-on-failure); }
prepare() {
  local n
  for n in 60 120; do
    [ -s grid-$n.graph ] || {
      python3 "$real_dir/generate.py" grid $n $n $n >grid.tmp && mv grid.tmp grid-$n.graph
    }
  done
}
# Its report is compared, without the lines with time and memory. It writes no files.
workload() {
  local graph=$inputs/grid-120.graph
  [ -z "$quick" ] || graph=$inputs/grid-60.graph
  echo "bash -o pipefail -c \"$SMALLOC_WORK/$package/$1/build/here/programs/gpmetis -nooutput" \
    "-seed=1 $graph 64 | sed '/ sec\\| MB\\|Built on/d'\""
}
real_main "$@"
