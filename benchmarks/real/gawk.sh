#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# gawk: an awk program that counts words and pairs of words in associative arrays. Buckets, nodes
# and strings are millions of small objects, and each doubling of a hash table relinks them.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
package=gawk
build_in() {
  ./configure --disable-dependency-tracking --disable-nls --disable-extensions \
    --disable-pma --without-mpfr --without-readline
  make -j1 -C support
  make -j1 gawk
}
test_in() {
  make -j1 -C test arrayref arrayparm arryref2 arryref3 delarprm delarpm2 arynasty arynocls \
    arysubnm asort asorti sortu sort1 gsubtest substr longwrds wjposer1 splitvar \
    fldchg nfset mtchi18n intarray numindex
  [ -z "$(find test -name '_*' -size +0)" ]
}
prepare() {
  local n
  for n in 10 2; do
    [ -s text-$n.txt ] && continue
    python3 "$real_dir/generate.py" text $n >text-$n.txt.tmp
    mv text-$n.txt.tmp text-$n.txt
  done
  cat >words.awk <<'AWK'
{
  for (i = 1; i <= NF; i++) {
    words[$i]++
    if (i > 1)
      pairs[$(i - 1) " " $i] += NR
  }
}
END {
  for (word in words)
    digest = (digest * 31 + words[word] * length(word)) % 1000003
  for (pair in pairs) {
    split(pair, both, " ")
    total += words[both[1]] * words[both[2]] % 1009
    digest = (digest * 31 + pairs[pair]) % 1000003
  }
  print length(words), length(pairs), total, digest
}
AWK
}
workload() {
  local text
  text=$inputs/text-$([ "$quick" ] && echo 2 || echo 10).txt
  echo "env LC_ALL=C $SMALLOC_WORK/$package/$1/gawk -f $inputs/words.awk $text"
}
real_main "$@"
