# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Without section headers smalloc sites finds the table in the loaded segments and prints a note.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
fixture_app app
strip app
# Sets e_shoff (8 bytes at 40) and e_shnum, e_shstrndx (4 bytes at 60) to zero, as sstrip does.
dd if=/dev/zero of=app bs=1 seek=40 count=8 conv=notrunc status=none
dd if=/dev/zero of=app bs=1 seek=60 count=4 conv=notrunc status=none
./app || fail "the program does not run any more"
expect_status 0 "$SMALLOC" sites app
expect_match out '^3 sites: 1 superpage, 1 at run time, 1 base; 2 rewritten$'
expect_match err '^smalloc: note: .*no section headers'
expect_status 0 "$SMALLOC" sites -q app
[ ! -s err ] || fail "a note in spite of -q"
