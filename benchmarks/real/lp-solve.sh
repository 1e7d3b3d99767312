#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# lp-solve: the simplex method on a sparse linear program. Columns are gathered and scattered
# through index lists, and the names of rows and columns are small objects in hash tables.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
package=lp-solve
# The list of files is from the library's own build script, which cannot set the compiler.
build_in() {
  local sources
  sources=$(sed -n "s/^src='\(.*\)'\$/\1/p" lpsolve55/ccc)
  cd lp_solve
  # shellcheck disable=SC2086
  $CC $CFLAGS -w -std=gnu89 -I.. -I../shared -I../bfp -I../bfp/bfp_LUSOL \
    -I../bfp/bfp_LUSOL/LUSOL -I../colamd -DYY_NEVER_INTERACTIVE -DPARSER_LP \
    -DINVERSE_ACTIVE=INVERSE_LUSOL -DRoleIsExternalInvEngine \
    lp_solve.c $sources ../colamd/colamd.c -o lp_solve -lm -ldl $LDFLAGS
}
binary() { echo "$SMALLOC_WORK/$package/$1/lp_solve/lp_solve"; }
# The package has no test suite: programs with known answers, one of them in both formats.
test_in() {
  printf '%s;\n' 'max: 143 x + 60 y' '120 x + 210 y <= 15000' '110 x + 30 y <= 4000' \
    'x + y <= 75' >farm.lp
  printf '%s;\n' 'max: 5 a + 4 b + 3 c' '2 a + 3 b + c <= 5' '4 a + b + 2 c <= 11' \
    '3 a + 4 b + 2 c <= 8' 'int a, b, c' >integer.lp
  "$(binary "$1")" farm.lp >farm.out
  grep -q '^Value of objective function: 6315\.62' farm.out
  "$(binary "$1")" integer.lp >integer.out
  grep -q '^Value of objective function: 13\.0*$' integer.out
  "$(binary "$1")" -parse_only -wfmps farm.mps farm.lp
  "$(binary "$1")" -fmps farm.mps | cmp - farm.out
}
prepare() {
  local n
  for n in 60000 12000; do
    [ -s lp-solve-$n.mps ] && continue
    python3 "$real_dir/generate.py" lp-solve $n 400 >lp-solve-$n.mps.tmp
    mv lp-solve-$n.mps.tmp lp-solve-$n.mps
  done
}
workload() {
  echo "$(binary "$1") -fmps $inputs/lp-solve-$([ "$quick" ] && echo 12000 || echo 60000).mps"
}
real_main "$@"
