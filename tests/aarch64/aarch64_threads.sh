#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Threads and forks do everything at once on aarch64, whose memory is ordered more weakly than
# x86's. Every byte is checked, and the allocator's tables at the end. (qemu-user on x86 keeps
# x86's order: what only a real processor reorders is not seen.)
. "$(dirname "$0")/cross.bash"
need_library
aarch64-linux-gnu-gcc -O1 -D_GNU_SOURCE -I"$SMALLOC_SOURCE" -I"$SMALLOC_SOURCE/smalloc/include" "$SMALLOC_SOURCE/tests/stress/heap_stress.c" \
  -o heap_stress -pthread "${LINK_LIBRARY[@]}"
for mode in exchange visitors migrate forks; do
  for heap in auto superpage; do
    [ "$mode $heap" != 'forks superpage' ] || continue # half a minute
    expect_status 0 emulated "heap:$heap,debug:on,stats:exit,populate:always,$RESERVED" ./heap_stress $mode 1
    expect_match out 'all bytes right$'
    expect_no_match err contradict
    expect_match err 'heaps: +running'
  done
done
