#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# layout=on lengthens rows and keeps the results, at every level and for every form of a subscript.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
need_linker lld
cat >t.c <<'C'
#include <stdio.h>
#define N 512
static double a[N][N], b[N][N], c[N][N];
static int cube[16][32][1024];
static unsigned char bytes[64][4096];
static void fill(void) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      a[i][j] = (i * 7 + j * 3) % 11;
      *(*(b + i) + j) = (i * 5 + j) % 13;
      (&c[i][0])[0] = 0;
    }
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 32; j++)
      for (int k = 0; k < 1024; k++)
        cube[i][j][k] = i ^ j ^ k;
  for (int i = 0; i < 64; i++)
    for (int j = 4095; j >= 0; j--)
      bytes[i][j] = (unsigned char)(i * j);
}
int main(void) {
  fill();
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      for (int k = 0; k < N; k += 8)
        c[i][j] += a[i][k] * b[k][j];
  double s = 0, t = 0;
  long u = 0, v = 0;
  for (int j = 0; j < N; j++)
    for (int i = 0; i < N; i++)
      s += c[i][j] * (i + 1), t += a[N - 1 - i][j];
  for (int k = 0; k < 1024; k++)
    for (int j = 0; j < 32; j++)
      for (int i = 0; i < 16; i++)
        u += cube[i][j][k] * (k + 1);
  for (int j = 0; j < 4096; j++)
    for (int i = 0; i < 64; i++)
      v = v * 31 + bytes[i][j];
  printf("%.0f %.0f %ld %ld %.0f %d\n", s, t, u, v, a[511][511] + b[0][3] + c[5][0], cube[15][31][1023]);
  return 0;
}
C
for option in -O1 -O2 -O3 -Os -O0; do
  "$CLANG" $option t.c -o reference
  ./reference >expected
  for extra in "" -flto; do
    # shellcheck disable=SC2086 # none or one
    quietly "$CLANG" $option $extra -fuse-ld=lld -fplugin="$PLUGIN" -fplugin-arg-smalloc-layout=on t.c -o padded
    expect_status 0 ./padded
    cmp out expected || fail "another result ($option $extra)"
  done
done
"$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-layout=on -Rpass=smalloc -c t.c -o padded.o 2>log
for array in a c cube bytes; do expect_match log "rows of '$array' are made"; done

