#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# smalloc analyze and trace show read traces as streams: their memory does not grow with the length
# of a trace. The test compares the peak of resident memory for two traces; one records eight times
# as many accesses to the same data.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate \
  "$SMALLOC_SOURCE/benchmarks/kernels/gups.c" -lm -o gups
resident() { # COMMAND...: KiB
  python3 - "$@" <<'PY'
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
sys.exit(1) if status else print(usage.ru_maxrss)
PY
}
expect_status 0 "$SMALLOC" record -q --rate 1 -o short.trace -- ./gups 20 50
expect_status 0 "$SMALLOC" record -q --rate 1 -o long.trace -- ./gups 20 400
short=$(stat -c %s short.trace) long=$(stat -c %s long.trace)
[ "$long" -gt $((short * 6)) ] || fail "the traces: $short and $long bytes"
for verb in "analyze --no-db --machine zen3" "trace show"; do
  read -ra words <<<"$verb"
  few=$(resident "$SMALLOC" "${words[@]}" short.trace) || fail "$verb short.trace"
  many=$(resident "$SMALLOC" "${words[@]}" long.trace) || fail "$verb long.trace"
  echo "$verb: $few KiB for $short bytes, $many KiB for $long"
  # 32 bytes a chunk, and what the allocator keeps; the trace itself grew by far more.
  [ $((many - few)) -lt $(((long - short) / 1024 / 4)) ] || fail "$verb: $few KiB became $many"
done
