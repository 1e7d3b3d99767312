# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program that is cut at any length is reported as cut or read correctly; no length crashes the
# reader.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
fixture_app app
strip app
size=$(stat -c %s app)
read_right=0
for length in $(seq 0 97 "$size") 63 64 $((size - 1)) "$size"; do
  head -c "$length" app >./cut
  got=0
  "$SMALLOC" sites cut >out 2>err || got=$?
  case $got in
    0) expect_match out '^3 sites: ' && read_right=$((read_right + 1)) ;;
    1) expect_match err '^smalloc: error: ' ;;
    *) fail "exit status $got at $length of $size bytes: $(cat err)" ;;
  esac
done
[ "$read_right" -ge 1 ] || fail "the whole file was not read"
