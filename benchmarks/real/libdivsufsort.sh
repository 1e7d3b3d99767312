#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# libdivsufsort: the Burrows-Wheeler transform of a genome, as aligners index it. Sorting the
# suffixes jumps about in the text and in an array of four times its size.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
package=libdivsufsort
build_in() {
  cmake -S . -B build -DCMAKE_POLICY_VERSION_MINIMUM=3.5 -DCMAKE_BUILD_TYPE=None \
    -DBUILD_SHARED_LIBS=OFF
  make -j1 -C build
}
# Its own check of its suffix arrays, and a round trip.
test_in() {
  python3 "$real_dir/generate.py" genome 1 >genome.txt
  build/examples/suftest genome.txt
  build/examples/bwt genome.txt genome.bwt
  build/examples/unbwt genome.bwt genome.back
  cmp genome.txt genome.back
}
prepare() {
  local n
  for n in 4 24; do
    [ -s genome-$n.txt ] || {
      python3 "$real_dir/generate.py" genome $n >genome.tmp && mv genome.tmp genome-$n.txt
    }
  done
}
# It prints times on standard error.
workload() {
  echo "$SMALLOC_WORK/$package/$1/build/examples/bwt" \
    "$inputs/genome-$([ "$quick" ] && echo 4 || echo 24).txt -"
}
real_main "$@"
