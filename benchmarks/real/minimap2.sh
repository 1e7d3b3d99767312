#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# minimap2: finds overlaps between DNA reads. Short words of all reads go into hash tables and are
# looked up at random. Objects of one read lie in a pool of its own on top of malloc. One thread
# does all the work while the main thread waits.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
package=minimap2
# Debian's patches take the vector instructions from a library, the original takes them from the
# compiler.
build_in() {
  patch -R -p1 <debian/patches/reenable-simde.patch
  patch -R -p1 <debian/patches/simde
  make -j1 minimap2 CFLAGS="$CFLAGS -w"
}
binary() { echo "$SMALLOC_WORK/$package/$1/minimap2"; }
# The package's test: a known alignment, from the sequences and from an index.
test_in() {
  "$(binary "$1")" -t1 -a test/MT-human.fa test/MT-orang.fa | grep -v '^@PG' >direct.sam
  "$(binary "$1")" -t1 -d human.mmi test/MT-human.fa
  "$(binary "$1")" -t1 -a human.mmi test/MT-orang.fa | grep -v '^@PG' >indexed.sam
  cmp direct.sam indexed.sam
  [ "$(awk '!/^@/ { print $3, $4, $5 }' direct.sam)" = "MT_human 577 60" ]
}
prepare() {
  local n
  for n in 1000 200; do
    [ -s minimap2-$n.fa ] && continue
    python3 "$real_dir/generate.py" minimap2 $n >minimap2-$n.fa.tmp
    mv minimap2-$n.fa.tmp minimap2-$n.fa
  done
}
workload() {
  local file
  file=$inputs/minimap2-$([ "$quick" ] && echo 200 || echo 1000).fa
  echo "$(binary "$1") -t1 -x ava-ont $file $file"
}
real_main "$@"
