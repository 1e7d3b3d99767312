#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Other readers of line information get the same results as without the plugin: gcov, clang's
# coverage, profiles of both kinds, samples, optimisation records.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
tool() { command -v "$1-22" || command -v "/usr/lib/llvm-22/bin/$1" || skip "no $1"; }
cov=$(tool llvm-cov) profdata=$(tool llvm-profdata)
mkdir src
cat >src/q.c <<'C'
#include <stdio.h>
#include <stdlib.h>

static void *xmalloc(size_t n) {
  void *p = malloc(n);
  if (!p)
    abort();
  return p;
}

static double scaled(const double *a, long n,
                     double by) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s += a[(i * 7919) % n] *
         by;
  return s;
}

int main(void) {
  int n = 1000;
  int s = 0;
  int *a = xmalloc(n * sizeof *a);
  double *d = xmalloc(n * sizeof *d);
  for (int i = 0; i < n; i++) {
    a[i] = i;
    d[i] = i;
    if (i % 3 == 0)
      s += 2;
    else
      s += a[i / 2];
  }
  printf("%d %g\n", s,
         scaled(d, n, s % 2 ? 1 : 2));
  free(d);
  free(a);
  return 0;
}
C
cp src/q.c src/q.cpp
sed -i 's/= xmalloc(n \* sizeof \*a)/= new int[n]/; s/= xmalloc(n \* sizeof \*d)/= (double *)xmalloc(n * sizeof *d)/; s/free(a)/delete[] a/' src/q.cpp
compiler() { [[ $1 = *.cpp ]] && echo "$CLANGXX" || echo "$CLANG"; }

# gcov_of SOURCE FLAG...: each line with its count.
gcov_of() {
  local source=$1 cc
  cc=$(compiler "$source")
  rm -rf w
  mkdir w
  cp "src/$source" w/
  (cd w && "$cc" "${@:2}" --coverage -c "$source" -o q.o && "$cc" --coverage q.o -o q && ./q >/dev/null && "$cov" gcov -t q.gcda)
}
for source in q.c q.cpp; do
  for flags in -O1 -O2 -O3 -Os "-O2 -gline-tables-only" "-O2 -g" "-O2 -fprofile-arcs -ftest-coverage"; do
    # shellcheck disable=SC2086 # several words
    gcov_of $source $flags >without
    [ "$(grep -c '^ *[0-9]*\*\?: ' without)" -ge 10 ] || fail "$source $flags: gcov knows too few lines without us"
    for load in "-fplugin=$PLUGIN" "-fpass-plugin=$PLUGIN" "-fplugin=$PLUGIN -fpass-plugin=$PLUGIN"; do
      # shellcheck disable=SC2086
      gcov_of $source $flags $load >with
      cmp -s without with || fail "$source $flags $load: $(diff without with | head -n 5)"
    done
  done
done

# clang_coverage_of SOURCE FLAG...: prints what llvm-cov shows.
clang_coverage_of() {
  "$(compiler "$1")" "${@:2}" -fprofile-instr-generate -fcoverage-mapping "src/$1" -o mapped
  LLVM_PROFILE_FILE=$tmp/mapped.raw ./mapped >/dev/null
  "$profdata" merge mapped.raw -o mapped.prof
  "$cov" show ./mapped -instr-profile=mapped.prof
}
# optimised FLAG...: prints the remarks of passes that run after the plugin's, with their places.
optimised() {
  "$CLANG" -O3 -c src/q.c -o q.o "$@" -fsave-optimization-record=yaml -foptimization-record-file=q.yaml -foptimization-record-passes=loop-vectorize
  grep -E '^(--- |Name|DebugLoc|Function)' q.yaml
}
plugin=-fplugin=$PLUGIN
for source in q.c q.cpp; do
  clang_coverage_of $source -O2 >without
  clang_coverage_of $source -O2 "$plugin" >with
  cmp -s without with || fail "$source: clang's coverage differs"
done
optimised >without
optimised "$plugin" >with
grep -q DebugLoc without || fail "no record"
cmp -s without with || fail "the record differs: $(diff without with | head -n 5)"

# A profile made with the plugin fits the program without it, and the other way round.
for kind in -fprofile-generate -fprofile-instr-generate; do
  for trained in "" "$plugin"; do
    "$CLANG" -O2 $kind ${trained:+"$trained"} src/q.c -o instrumented
    LLVM_PROFILE_FILE=$tmp/q.raw ./instrumented >/dev/null
    "$profdata" merge q.raw -o q.prof
    for used in "" "$plugin"; do
      quietly "$CLANG" -O2 ${kind/generate/use=$tmp\/q.prof} -Werror=profile-instr-out-of-date -Werror=profile-instr-unprofiled ${used:+"$used"} \
        -S -emit-llvm src/q.c -o q.ll
      grep -q 'define.* @main.*!prof' q.ll || fail "$kind, trained ${trained:+with us}, used ${used:+with us}: main has no counts"
    done
  done
done
cat >q.samples <<'P'
main:200000:1
 5: 1000
 6: 1000
 8: 400
P
sampled() { "$CLANG" -O2 -fprofile-sample-use=q.samples "$@" -S -emit-llvm src/q.c -o - | grep -c '!prof'; }
[ "$(sampled)" -gt 1 ] || fail "the samples are of no use without us"
[ "$(sampled "$plugin")" -ge "$(sampled)" ] || fail "samples: $(sampled "$plugin") of $(sampled) branches know how often they are taken"
