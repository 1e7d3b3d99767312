#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# setjmp and longjmp across allocations: variables and memory have the same contents as without the
# plugin.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
cat >j.c <<'C'
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
static jmp_buf env;
static double *work(size_t n, int jump) {
  double *a = malloc(n * n * sizeof *a);
  if (!a) abort();
  for (size_t i = 0; i < n * n; i++) a[i] = 1;
  if (jump) { free(a); longjmp(env, jump); }
  return a;
}
int main(void) {
  volatile int jumps = 0;
  volatile double sum = 0;
  double *volatile kept = NULL;
  int code = setjmp(env);
  if (code) jumps += code;
  if (jumps < 10) {
    free(kept);
    kept = work(256, 0);
    for (size_t j = 0; j < 256; j++) for (size_t i = 0; i < 256; i++) sum += kept[i * 256 + j];
    work(512, 1);
  }
  printf("jumps %d sum %.0f\n", jumps, sum);
  free(kept);
  return 0;
}
C
for opt in -O0 -O2 -O3; do
  for link in "" library; do
    extra=()
    [ -z "$link" ] || extra=("${LINK_LIBRARY[@]}")
    quietly "$CLANG" $opt -fplugin="$PLUGIN" j.c "${extra[@]}" -o program
    expect_status 0 ./program
    expect_match out '^jumps 10 sum 655360$'
  done
done
