# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# smalloc sites reads the same table from every kind of file that a linker or strip produces.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
fixture_app pie -fPIE -pie
fixture_app nopie -fno-pie -no-pie
fixture library.so -shared -fPIC
strip -o stripped pie
for file in pie nopie library.so stripped; do
  expect_status 0 "$SMALLOC" sites $file
  expect_match out '^transpose\(double\*, int\) +src/fixture.cpp:12 +malloc +strided +16384 pages +superpage 2 MiB$'
  expect_match out '^main +src/fixture.cpp:21 .* scattered +n/256 +runtime from 4 MiB$'
  expect_match out '^demo::name\(\) .* strdup +unknown +\? +base$'
  expect_match out "why: 'A' is read down columns in the loop at line 20"
  expect_match out '^3 sites: 1 superpage, 1 at run time, 1 base; 2 rewritten$'
  expect_match out '^machine: zen4 \(preset\), reach 2048 pages of 4 KiB; model: spread$'
  [ ! -s err ] || fail "$(cat err)"
  [ "$(grep -c '^    why:' out)" = 3 ] || fail "a site without a reason"
done
# An unknown decision is not printed as base pages.
fixture_app unknown -fPIE -pie -DSMALLOC_FIXTURE_UNDECIDED
expect_status 0 "$SMALLOC" sites unknown
expect_match out ' strdup .* base \(undecided\)$'
expect_match out '^3 sites: 1 superpage, 1 at run time, 0 base, 1 undecided; 2 rewritten$'
expect_status 0 "$SMALLOC" sites unknown --json
json_is out 'd["totals"]["base"] == 1 and d["totals"]["undecided"] == 1'
# The linker has not placed the cells of an object file yet, so the compiler's decision is shown.
fixture object.o -c
expect_status 0 "$SMALLOC" sites object.o
expect_match out '^3 sites: 1 superpage, 0 at run time, 2 base; 2 rewritten$'
