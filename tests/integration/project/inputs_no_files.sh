#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# An input that is no regular file is refused at once, with its name, its type, a cure, and the
# documented status. A pipe without a writer would block a build forever, and a device such as
# /dev/zero never ends.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
mkfifo fifo.json
mkdir folder.json
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket.json")'
ln -s /dev/zero device.json
declare -A is=([fifo]='it is a pipe, not a file: save in one what comes out of it' [folder]='it is a directory'
  [socket]='it is a socket, not a file' [device]='it is a device, not a file')
echo 'int x;' >unit.c
cp /bin/true app
# refused STATUS WHAT CMD...: CMD ends by itself and names the type of WHAT.json.
refused() {
  expect_status "$1" timeout 20 "${@:3}"
  expect_match err "error: .*\\(([^)]*/)?$2\\.json\\): ${is[$2]}\$"
  expect_match err '^hint: .'
}
for what in fifo folder socket device; do
  file=$what.json
  refused 1 $what "$SMALLOC" analyze $file
  refused 1 $what "$SMALLOC" analyze --machine $file trace
  refused 1 $what "$SMALLOC" machine show $file
  refused 1 $what "$SMALLOC" sites $file
  refused 1 $what "$SMALLOC" trace show $file
  refused 1 $what "$SMALLOC" trace compare $file $file
  refused 1 $what "$SMALLOC" directives show $file
  refused 1 $what "$SMALLOC" db list --db $file
  refused 1 $what "$SMALLOC" numa simulate $file
  refused 125 $what "$SMALLOC" numa replay $file -- true
  if [ -r "$PLUGIN" ]; then
    for key in machine profile-use; do
      refused 1 $what "$CLANG" -O1 -c -o unit.o -fplugin="$PLUGIN" -fplugin-arg-smalloc-$key=$file unit.c
    done
  fi
  if [ -r "$PRELOAD" ]; then # the program continues
    expect_status 0 timeout 20 env SMALLOC_CONF=directives:$file LD_PRELOAD="$PRELOAD" ./app
    expect_match err "$file.*${is[$what]}"
  fi
done
# A missing file is a different error.
expect_error 1 '\(none.json\): no such file' "$SMALLOC" machine show none.json
# A very large file that is recognisably wrong at its beginning is not read to the end, nor into
# memory.
truncate -s 100G vast.json
vast() {
  expect_status "$1" timeout 60 bash -c 'ulimit -v 4000000 && exec "$@"' - "${@:2}"
  expect_match err 'error: .*\(([^)]*/)?vast\.json\): .'
  [ "$(grep -c error: err)" = 1 ] || fail "$(cat err)"
}
for words in sites "directives show" "trace show" analyze "numa simulate" "machine show" "numa topology" "db show"; do
  # shellcheck disable=SC2086 # two words
  vast 1 "$SMALLOC" $words vast.json
done
vast 1 "$SMALLOC" analyze --machine vast.json trace
vast 125 "$SMALLOC" numa replay vast.json -- true
if [ -r "$PLUGIN" ]; then
  for key in machine profile-use; do
    vast 1 "$CLANG" -O1 -c -o unit.o -fplugin="$PLUGIN" -fplugin-arg-smalloc-$key=vast.json unit.c
  done
fi
