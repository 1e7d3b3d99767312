# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Small traces that stand for very many accesses (fixtures/trace_bombs.cpp). Each command ends with
# little memory and work, and reports the parts that it left out. It leaves out no part of a
# program's trace.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
bombs=$SMALLOC_BUILD/tests/trace_bombs
[ -x "$bombs" ] || skip "trace_bombs was not built"
"$bombs" "$tmp" >names
grep -q '^SMALLOC_SANITIZE:STRING=.*[a-z]' "$SMALLOC_BUILD/CMakeCache.txt" && skip "sanitizers take the memory that is limited here"
limited() { # 2 GiB of addresses, with the threads' stacks; processor seconds, many times those of an idle machine
  (ulimit -v 2097152 && ulimit -t 120 && exec "$@")
}
while read -r name; do
  expect_status 0 limited "$SMALLOC" trace show "$name.trace"
  mv err shown
  expect_status 0 limited "$SMALLOC" analyze --no-db --machine zen4 --seconds 1 "$name.trace"
  cat err >>shown
  case $name in
  walks-* | accesses | allocations) expect_match shown '^smalloc: warning: not all of the trace is read .*: its .* bytes' ;;
  never-accessed) expect_match shown '^smalloc: warning: not all of the trace is used .* objects are left out' ;;
  esac
  case $name in
  walks-* | accesses | given-back* | threads) expect_status 0 limited "$SMALLOC" numa simulate "$name.trace" ;;
  *) expect_error 1 'the trace holds no accesses' limited "$SMALLOC" numa simulate "$name.trace" ;;
  esac
done <names
