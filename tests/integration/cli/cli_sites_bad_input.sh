# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# For any bad input smalloc sites exits with 1 and a clear error, and never crashes.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
fixture_app app
echo 'int main;' >text.c
: >empty
mkdir folder
printf '#!/bin/sh\n' >script
expect_error 1 '\(text.c\): it is not an ELF file' "$SMALLOC" sites text.c
expect_match err '^hint: '
expect_error 1 '\(empty\): the file is empty' "$SMALLOC" sites empty
expect_match err '^hint: link or copy it again'
expect_error 1 '\(folder\): it is a directory' "$SMALLOC" sites folder
expect_error 1 '\(nosuch\): no such file' "$SMALLOC" sites nosuch
expect_match err '^hint: ls -l \.$'
expect_error 1 '\(script\): it is a script' "$SMALLOC" sites script
expect_error 1 "\\(''\\): no such file" "$SMALLOC" sites "" # an unset variable of a script
mkfifo pipe
expect_error 1 '\(pipe\): it is a pipe, not a file' timeout 10 "$SMALLOC" sites pipe
# A program without sites: the message says how to get them.
echo 'int main(void) { return 0; }' >plain.c
"$CC" plain.c -o plain
expect_error 1 'no allocation sites \(plain\): ' "$SMALLOC" sites plain
expect_match err "^hint: clang-22 .*-fplugin=$(readlink -f "$PLUGIN") "
printf '\001' | dd of=app bs=1 seek=4 conv=notrunc status=none # ELFCLASS32
expect_error 1 '32-bit' "$SMALLOC" sites app
expect_match err '^hint: build it without -m32'
if [ "$(id -u)" != 0 ]; then
  chmod 0 plain
  expect_error 1 'permission denied' "$SMALLOC" sites plain
fi
