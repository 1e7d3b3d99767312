#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs heap_stress under every strategy: objects that change threads, 1000 threads that start and
# end, fork storms, and pages that change their size during writes. Every byte is checked, and the
# allocator's tables at the end (debug:on).
#
#   tests/stress/stress.sh                 short, as scripts/test runs it
#   tests/stress/stress.sh --long          twenty times as much, and more settings
#   tests/stress/stress.sh --only migrate  one of exchange visitors forks migrate
. "$(dirname "${BASH_SOURCE[0]}")/../integration/support/lib.sh"
scale=1 only='exchange visitors forks migrate' long=no
while [ $# -gt 0 ]; do
  case $1 in
  --long) long=yes scale=20 ;;
  --only)
    [ $# -ge 2 ] || { echo "stress.sh: error: option (--only): needs a value" >&2; echo "hint: head -11 $0" >&2; exit 2; }
    only=$2
    shift
    ;;
  *) echo "stress.sh: error: argument ($1): unknown" >&2; echo "hint: head -11 $0" >&2; exit 2 ;;
  esac
  shift
done
[ -e "$LIB" ] || fail "$LIB is not built"
"${CC:-cc}" -O1 -g -D_GNU_SOURCE -I"$SMALLOC_SOURCE" -I"$SMALLOC_SOURCE/smalloc/include" "$SMALLOC_SOURCE/tests/stress/heap_stress.c" \
  -o heap_stress -pthread -L"$SMALLOC_BUILD/lib" -Wl,-rpath,"$SMALLOC_BUILD/lib" -Wl,--no-as-needed -lsmalloc ||
  fail "the program does not compile"
declare -A settings=(
  [exchange]='heap:auto heap:superpage,cache:0,promote:eager'
  [visitors]='heap:auto heap:migrate'
  [forks]='heap:auto heap:superpage'
  [migrate]='budget:40m heap:auto,budget:40m,promote:eager,demote:20%'
)
if [ "$long" = yes ]; then
  for mode in "${!settings[@]}"; do settings[$mode]+=' heap:migrate,budget:40m stats:sites abort:true,cache:1m demote:off,promote:thread'; done
fi
for mode in $only; do
  [ -n "${settings[$mode]:-}" ] || fail "$mode: no such mode"
  for conf in ${settings[$mode]}; do
    case $conf in *debug*) ;; *) conf+=,debug:on,stats:exit ;; esac
    case $conf in heap:off*) continue ;; esac
    SMALLOC_CONF=$conf expect_status 0 timeout $((120 * (scale + 1))) ./heap_stress "$mode" $scale
    expect_match out 'all bytes right$'
    expect_no_match err contradict
    # Checks that the tested events happened.
    [ "$(thp_mode)" != madvise ] || expect_match err 'heaps: +running'
    if [ "$mode" = migrate ] && [ "$(thp_mode)" = madvise ]; then
      expect_match out '^migrated [1-9][0-9]*, promotions [1-9][0-9]'
      case $conf in *budget:*) expect_match err 'demotions: +[1-9]' ;; esac # without a budget there may be none
    fi
    echo "ok: $mode, $conf"
  done
done
