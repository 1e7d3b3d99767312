#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# For a trace without its end, smalloc analyze reports that and how much it read, and analyses the
# rest. It reports nothing about a program without records.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
FEEDBACK=$SMALLOC_BUILD/lib/libsmalloc_feedback.so
[ -r "$FEEDBACK" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
cat >app.c <<'C'
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
  unsigned x = 1;
  for (long i = 0; i < 100000; i++) {
    x = x * 1664525u + 1013904223u;
    void *volatile p = malloc(x >> 16);
    free(p);
  }
  if (argc > 1)
    pause();
  return argv == NULL;
}
C
"$CC" -O1 app.c -o app
expect_status 0 "$SMALLOC" record -q --source instrumented -o whole.trace -- ./app
expect_status 0 "$SMALLOC" analyze whole.trace --no-db --json
expect_no_match err 'truncated|damaged'
json_is out 'd["traces"][0]["complete"] and d["traces"][0]["read_bytes"] == d["traces"][0]["file_bytes"] and d["traces"][0]["allocations"] >= 100000'
# The offset of the first frame.
python3 - <<'PY' >frames
data = open("whole.trace", "rb").read()
at = data.find(b"\x28\xb5\x2f\xfd")
while at >= 0:
    print(at)
    at = data.find(b"\x28\xb5\x2f\xfd", at + 1)
PY
frame() { sed -n "$1p" frames; }
[ "$(wc -l <frames)" -ge 5 ] || fail "too few frames"

# Cut within the fourth frame.
head -c $(($(frame 4) + 1000)) whole.trace >torn.trace
expect_status 0 "$SMALLOC" analyze torn.trace --no-db --json
expect_match err "^smalloc: warning: truncated trace \\(torn.trace\\): its end is missing: $(frame 4) of $(($(frame 4) + 1000)) bytes could be read, [0-9]+ allocations"
json_is out 'not d["traces"][0]["complete"] and d["traces"][0]["read_bytes"] == d["traces"][0]["file_bytes"] - 1000'
json_is out '1000 < d["traces"][0]["allocations"] < 100000 and d["mappings"]'
# Cut between two frames, as when a process is killed between two writes.
head -c "$(frame 4)" whole.trace >cut.trace
expect_status 0 "$SMALLOC" analyze cut.trace --no-db --json
expect_match err '^smalloc: warning: truncated trace \(cut.trace\)'
json_is out 'd["traces"][0]["read_bytes"] == d["traces"][0]["file_bytes"] and d["traces"][0]["allocations"] > 1000'
# trace show prints the contents with the same note.
for trace in torn cut; do
  expect_status 0 "$SMALLOC" trace show $trace.trace
  expect_match err "^smalloc: warning: truncated trace \\($trace.trace\\): its end is missing"
  expect_match out '^complete +no: its end is missing'
  expect_status 0 "$SMALLOC" trace show $trace.trace --json
  json_is out 'not d["complete"] and d["events"]["allocations"] > 1000'
done
expect_status 0 "$SMALLOC" trace show whole.trace
expect_match out '^complete +yes$'
[ ! -s err ] || fail "$(cat err)"
# With a process that was really killed.
LD_PRELOAD=$FEEDBACK SMALLOC_CONF=trace:killed.trace ./app wait &
pid=$!
trap 'kill -9 $pid 2>/dev/null || true; rm -rf "$tmp"' EXIT
for _ in $(seq 200); do
  [ ! -s killed.trace ] || [ "$(stat -c %s killed.trace)" -lt 100000 ] || break
  sleep 0.05
done
kill -KILL $pid
wait $pid 2>/dev/null || true
trap 'rm -rf "$tmp"' EXIT
expect_status 0 "$SMALLOC" analyze killed.trace --no-db --json
expect_match err '^smalloc: warning: truncated trace \(killed.trace\)'
json_is out 'd["traces"][0]["allocations"] > 1000'

# Only the header: the trace of a process that was killed at once, or of a file that was cut.
head -c "$(frame 2)" whole.trace >header.trace
expect_status 0 "$SMALLOC" analyze header.trace --no-db -o header.directives
expect_match out '^nothing to analyze'
expect_match err '^smalloc: warning: nothing to analyze \(header.trace\)'
expect_no_match err 'no data accesses|no directives|few sampled|next:'
expect_no_match out 'significance|RANK'
head -c $(($(frame 2) + 50)) whole.trace >stump.trace
expect_error 1 "cannot analyze the trace \\(stump.trace\\): it is truncated, and the $(frame 2) of $(($(frame 2) + 50)) bytes" \
  "$SMALLOC" analyze stump.trace --no-db -o stump.directives
expect_match err '^hint: smalloc record -o stump.trace -- ./app$'
[ ! -e stump.directives ] || fail "directives of nothing"
# Beside a complete trace it costs a warning.
expect_status 0 "$SMALLOC" analyze whole.trace stump.trace --no-db --json
expect_match err '^smalloc: warning: truncated trace \(stump.trace\)'
json_is out 'd["mappings"] and d["traces"][1]["allocations"] == 0'
