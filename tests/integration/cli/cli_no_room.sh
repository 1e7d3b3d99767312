#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# If a result does not fit (a limit of file sizes, a full disk), an existing file keeps its
# contents, no new file is left, and the command prints what helps. Outputs that are no regular
# file, or that have several names or links, are written as usual.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
# refused KIB HINT CMD...: standard error is a pipe, since a file would have the same limit.
refused() {
  local limit=$1 hint=$2 status=0
  shift 2
  (ulimit -f "$limit" && exec "$@" 2>&1) | cat >err || status=${PIPESTATUS[0]}
  [ "$status" = 1 ] || fail "exit status $status instead of 1: $* $(cat err)"
  expect_match err '^smalloc: error: cannot write the result \(.*\): '
  expect_match err "^hint: $hint"
}
list() { "$SMALLOC" machine list --json "$@"; }
for name in "machine list" "machine show zen4"; do
  # shellcheck disable=SC2086 # words
  refused 0 'ulimit -f unlimited' "$SMALLOC" $name --json -o fresh
  [ -z "$(find . -name '*fresh*')" ] || fail "$name: leaves $(find . -name '*fresh*')"
done
"$SMALLOC" machine show zen4 --json -o kept
cp kept before
for limit in 0 1; do
  refused $limit 'ulimit -f unlimited' "$SMALLOC" machine list --json -o kept
  cmp kept before || fail "a limit of $limit KiB damages the file"
  [ -z "$(find . -name '.kept*')" ] || fail "something stays beside it"
done
# A command that smalloc starts gets the signal. Data in a pipe has no size limit.
status=0
(ulimit -f 0 && exec "$SMALLOC" run -q -- sh -c 'echo x >y' 2>&1) | cat >out || status=${PIPESTATUS[0]}
plain=0
(ulimit -f 0 && exec sh -c 'echo x >y' 2>&1) | cat >out || plain=${PIPESTATUS[0]}
[ "$status" = "$plain" ] && [ "$plain" -gt 128 ] || fail "the command's status is $status, and $plain without us"
(ulimit -f 0 && exec "$SMALLOC" machine list --json) | cat >whole
list >plain
cmp whole plain || fail "a pipe is limited"

# Complete, with the mode of the existing file, through links and other names.
chmod 640 kept
list -o kept
cmp kept plain && [ "$(stat -c %a kept)" = 640 ] || fail "mode $(stat -c %a kept)"
(umask 077 && list -o private)
[ "$(stat -c %a private)" = 600 ] || fail "umask: mode $(stat -c %a private)"
mkdir folder
ln -s folder/target link
list -o link
[ -L link ] && cmp folder/target plain || fail "a link that leads to nothing yet"
echo old >folder/target
list -o link
[ -L link ] && cmp folder/target plain || fail "a link"
ln folder/target second
echo old >second
list -o second
cmp folder/target plain || fail "two names"
list -o /dev/stdout | cmp - plain || fail "/dev/stdout, a pipe"
{ echo first && list -o /dev/stdout; } >both
cmp both plain || fail "/dev/stdout, a file: $(head -1 both)"
mkfifo pipe
cat pipe >through &
list -o pipe
wait $!
cmp through plain || fail "a pipe with a name"
expect_error 1 'cannot write the result \(/dev/full\): no space left on device' "$SMALLOC" machine list -o /dev/full
[ -c /dev/full ] || fail "/dev/full is gone"
status=0
"$SMALLOC" machine list >/dev/full 2>err || status=$?
[ "$status" = 1 ] || fail "a full standard output: status $status"
expect_match err '^hint: -o FILE on a disk with room'
expect_error 1 'cannot write the result \(folder\): is a directory' "$SMALLOC" machine list -o folder
expect_error 1 'cannot write the result \(nosuch/x\): no such file' "$SMALLOC" machine list -o nosuch/x
[ -z "$(find . -name '.*' -type f)" ] || fail "left: $(find . -name '.*' -type f)"

# With a disk that is really full.
mkdir disk
mount -t tmpfs -o size=64k tmpfs disk 2>/dev/null || skip "no file system may be mounted for a full disk; the rest is tested"
trap 'umount "$tmp/disk"; rm -rf "$tmp"' EXIT
cp before disk/kept
cat /dev/zero >disk/filler 2>/dev/null || true
for name in fresh kept; do
  expect_error 1 "cannot write the result \\(disk/$name\\): no space left on device" "$SMALLOC" machine list --json -o disk/$name
  expect_match err '^hint: -o FILE on a disk with room'
done
cmp disk/kept before || fail "a full disk damages the file"
[ "$(find disk -type f | wc -l)" = 2 ] || fail "left: $(find disk -type f)"
if [ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ]; then
  expect_status 7 "$SMALLOC" record --source instrumented -o disk/t.trace -- sh -c 'exit 7'
  expect_match err '^smalloc: warning: trace \(.*t.trace\): No space left on device; nothing is recorded$'
  expect_match err '^hint: make room there, or trace:FILE, on a disk with room$'
  expect_match err '^smalloc: warning: nothing was recorded \(sh\): there is no room for a trace: no space left on device$'
  expect_match err '^hint: smalloc record -o FILE on a disk with room$'
  expect_no_match err 'no library of ours'
fi
