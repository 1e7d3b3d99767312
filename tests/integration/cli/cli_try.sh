# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# smalloc try: pairs of runs, the same input for each, counts of page faults, ten lines, the status of a failed run.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
[ -e "$PRELOAD" ] || skip "libsmalloc.so was not built"
need_thp
# 64 MiB of heap, all written, held while its memory is looked at.
cat >touch.c <<'C'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
  size_t bytes = (size_t)64 << 20;
  char *p = malloc(bytes);
  memset(p, argc, bytes);
  usleep(200000);
  return p[bytes / 2] != argc || !argv[0];
}
C
"$CC" -O1 touch.c -o touch
# heap:superpage, which waits for no fill: counts that do not depend on the machine's speed.
expect_status 0 env SMALLOC_CONF=heap:superpage,populate:always "$SMALLOC" try --json -- ./touch </dev/null
json_is out 'd["schema"] == "smalloc.try/1" and d["pairs"] == 3 and d["command"] == "./touch"'
# 64 MiB are 16,384 base pages. THP mode always gives the plain program superpages, too.
if [ "$(thp_mode)" = madvise ]; then
  json_is out 'd["page_faults"]["clear"] and d["page_faults"]["without"] > 16384 > 2 * d["page_faults"]["with"]'
  json_is out 'd["superpage_bytes"]["without"] == 0 and d["superpage_bytes"]["with"] >= 32 << 20'
fi
json_is out 'd["peak_memory_bytes"]["without"] >= 64 << 20 and d["next"] and not d["compiled_with_plugin"]'

# How often, in which order, and with which environment the program runs.
cat >note.sh <<'S'
#!/bin/sh
case ${LD_PRELOAD:-} in *libsmalloc.so*) echo with ;; *) echo "without ${SMALLOC_CONF##*,}" ;; esac >>runs
S
chmod +x note.sh
expect_status 0 "$SMALLOC" try -- ./note.sh </dev/null
printf '%s\n' 'without heap:off' with with 'without heap:off' 'without heap:off' with >wanted
diff wanted runs || fail "another order of runs"
[ "$(wc -l <out)" -le 10 ] || fail "more than ten lines: $(cat out)"
expect_match out '^note.sh: .*3 pairs of runs'
expect_match out '^next: nothing: '
rm runs
expect_status 0 "$SMALLOC" try --quick -- ./note.sh </dev/null
[ "$(wc -l <runs)" = 2 ] || fail "not one pair: $(cat runs)"
expect_match out '1 pair of runs: too few to claim a difference'
expect_no_match out '95 %'
expect_status 125 "$SMALLOC" try --quick --rounds 5 -- ./note.sh

# Standard input: each run gets all of it, from a file and from a pipe.
printf 'one\ntwo\n' >input
expect_status 0 "$SMALLOC" try --quick -- sh -c 'cat >>copied' <input
cat input input | diff - copied || fail "a file is not given to each run"
rm copied
printf 'one\ntwo\n' | "$SMALLOC" try --quick -- sh -c 'cat >>copied' >out || fail "a pipe: status $?"
cat input input | diff - copied || fail "a pipe is not given to each run"

# Standard output is discarded unless asked for.
expect_status 0 "$SMALLOC" try --quick -- echo "what it says" </dev/null
expect_no_match out '^what it says$'
expect_status 0 "$SMALLOC" try --quick --show-output -- echo "what it says" </dev/null
[ "$(grep -c '^what it says$' out)" = 2 ] || fail "the output is not shown: $(cat out)"

# A run that fails: its status, its messages, and which run it was.
expect_error 7 'the command failed \(sh, run 1 of 6, without smalloc\): exit status 7' \
  "$SMALLOC" try -- sh -c 'echo broken >&2; exit 7' </dev/null
expect_match err '^broken$'
expect_error 139 'run 2 of 6, with smalloc\): signal 11' \
  "$SMALLOC" try -- sh -c 'case $LD_PRELOAD in *libsmalloc*) kill -SEGV $$ ;; esac' </dev/null
expect_match err '^hint: .*passed without smalloc'
# What cannot be started, or cannot gain, is not run.
expect_error 127 'cannot run the command \(./nosuch\)' "$SMALLOC" try -- ./nosuch
expect_error 125 'no command to try' "$SMALLOC" try
if "$CC" -O1 -static touch.c -o static 2>/dev/null; then
  expect_error 125 'cannot try the program .*static executable' "$SMALLOC" try -- ./static
fi
expect_status 3 "$SMALLOC" try --quick --fail-if 'page_faults.without > 10' -- ./touch </dev/null
