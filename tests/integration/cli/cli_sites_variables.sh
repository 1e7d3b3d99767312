#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# smalloc sites lists large variables. A COMMON block of several units is listed once, with the
# largest demand of the units.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
cat >t.c <<'C'
#include <stdio.h>
static double table[4 << 20];
static int pick[1 << 20];
int main(void) {
  double s = 0;
  for (int i = 0; i < 4 << 20; i++)
    table[i] = i % 7;
  for (int i = 0; i < 1 << 20; i++)
    pick[i] = (int)(i * 7919L % (4 << 20));
  for (int k = 0; k < 4; k++)
    for (int i = 0; i < 1 << 20; i++)
      s += table[pick[i]];
  printf("%.0f\n", s);
  return 0;
}
C
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-machine=zen4 t.c -o program
expect_status 0 ./program
expect_status 0 env LD_PRELOAD="$LIB" SMALLOC_CONF=program:static ./program
expect_status 0 "$SMALLOC" sites --json program
python3 - <<'PY'
import json
sites = {s["function"]: s for s in json.load(open("out"))["sites"]}
assert set(sites) == {"table", "pick"}, sites
assert sites["table"]["decision"] == "superpage" and sites["table"]["pattern"] == "scattered", sites
assert sites["table"]["callee"] == "static" and not sites["table"]["rewritten"] and "program:static" in sites["table"]["why"], sites
assert sites["table"]["size_bytes"] == 8 << 22 and sites["table"]["element_bytes"] == 8, sites
assert sites["pick"]["decision"] == "base", sites
PY
expect_status 0 "$SMALLOC" sites program
expect_match out 'table +t.c:.* static '
command -v "$FLANG" >/dev/null || skip "no $FLANG"
cat >one.f90 <<'F'
subroutine one
  real(8) :: c(4000000)
  common /blk/ c
  integer :: i
  do i = 1, 4000000
    c(i) = i
  end do
end subroutine
program p
  integer :: index(1000)
  index = [(mod(i*7919, 4000000) + 1, i=1, 1000)]
  call one
  call two(1000, index)
end program
F
cat >two.f90 <<'F'
subroutine two(n, index)
  integer :: n, index(n), i
  real(8) :: c(4000000), s
  common /blk/ c
  s = 0
  do i = 1, n
    s = s + c(index(i))
  end do
  print *, s
end subroutine
F
for order in "one.f90 two.f90" "two.f90 one.f90"; do
  # shellcheck disable=SC2086 # two files
  quietly "$FLANG" -O2 -fpass-plugin="$PLUGIN" -mllvm -smalloc-machine=zen4 $order -o fortran
  expect_status 0 ./fortran
  expect_status 0 "$SMALLOC" sites --json fortran
  python3 - <<'PY'
import json
blocks = [s for s in json.load(open("out"))["sites"] if s["callee"] == "common"]
assert len(blocks) == 1 and blocks[0]["function"] == "blk_", blocks
assert blocks[0]["decision"] == "superpage" and blocks[0]["pattern"] == "scattered", blocks
PY
done
