#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# balancing.bash: runs in the guest for scripts/numa-balancing. Each program runs without any
# migration, under the kernel's NUMA balancing, and under numa:migrate, for the same time. Prints a
# line of JSON a run, from the kernel's own counters, which count all moves alike. The monitor
# measures locality.
#
#   balancing.bash BUILD SECONDS PROGRAM...    ("both thp 16")
set -eu
build=$1 seconds=$2
shift 2
cd "$(mktemp -d)"
echo always >/sys/kernel/mm/transparent_hugepage/enabled
conf=numa:migrate,numa_interval:1,numa_reserve:8m # the clock with its default period
coproc held { exec "$build/tests/numa_walker" hold; }
trap 'kill "$held_PID"' EXIT
read -r -u "${held[0]}" # so that the kernel patches its code once, not for every program
counter() { awk -v k="$1" '$1 == k { print $2 }' /proc/vmstat; }
export WALKER_PHASES=1
for program in "$@"; do
  for mode in none kernel smalloc; do
    if [ $mode = kernel ]; then echo 1; else echo 0; fi >/proc/sys/kernel/numa_balancing
    moved=$(counter pgmigrate_success) faults=$(counter numa_hint_faults)
    if [ $mode = smalloc ]; then
      LD_PRELOAD=$build/lib/libsmalloc.so SMALLOC_CONF=$conf "$build/tests/numa_walker" $program "$seconds" >out
    else
      "$build/tests/numa_walker" $program "$seconds" >out
    fi
    grep -q ' wrong 0$' out
    echo "{\"program\": \"$program\", \"mode\": \"$mode\", \"moved_pages\": $(($(counter pgmigrate_success) - moved)), \"hint_faults\": $(($(counter numa_hint_faults) - faults)), \"huge_kib\": $(sed -n '$s/.* huge \([0-9]*\) .*/\1/p' out)}"
  done
done
