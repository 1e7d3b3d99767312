#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The array and pointer programs of benchmarks/programs get the decisions that are recorded, no less
# memory on superpages, and no more page faults and system calls. After an intended change:
# SMALLOC_UPDATE_GOLDEN=1 ctest --test-dir build -R program_counts
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
[ "$(thp_mode)" = madvise ] || skip "recorded where transparent huge pages are madvise, not $(thp_mode)"
command -v strace >/dev/null || skip "no strace"
strace -c -o calls true 2>/dev/null || skip "strace may not trace here"
python3 "$SMALLOC_SOURCE/tests/integration/fixtures/program_counts.py" "$SMALLOC_BUILD" "$SMALLOC_SOURCE" ${SMALLOC_UPDATE_GOLDEN:+--update} ||
  fail "counts differ from tests/integration/fixtures/program_counts.json"
