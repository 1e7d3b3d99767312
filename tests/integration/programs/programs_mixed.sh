#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The mixed-site program: same output with and without the plugin. The hot sites are chosen and the
# cold ones are not. Shuffling its source changes no decision. Memory stays within 2 % of base
# pages.
. "$(dirname "$0")/../support/lib.sh"
if [ ! -e "$PLUGIN" ] || [ ! -e "$LIB" ]; then skip "no plugin or no library in $SMALLOC_BUILD"; fi
link=(-L"$SMALLOC_BUILD/lib" -Wl,--no-as-needed -lsmalloc -Wl,-rpath,"$SMALLOC_BUILD/lib")
mixed=$SMALLOC_SOURCE/benchmarks/mixed
cp "$mixed/mixed.c" order0.c
python3 "$mixed/shuffle.py" 0 <"$mixed/mixed.c" >order1.c
python3 "$mixed/shuffle.py" 7 <"$mixed/mixed.c" >order2.c
cmp -s order0.c order1.c && fail "shuffle.py changed nothing"

# decisions FILE: prints one line a site: function, size class of the call, decision; in an order
# independent of lines
decisions() {
  sed -nE "s/.*remark: (superpages|base pages)[^:]*: ([a-z_]+) of ([^ ]+) bytes in '([a-z_]+)'.*/\4 \2 \3 \1/p" "$1" | sort
}
for n in 0 1 2; do
  # Decisions by loops alone: the fully written labels would get superpages for another reason.
  "$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-first-touch=off -Rpass=smalloc -Rpass-missed=smalloc order$n.c -o ours$n \
    "${link[@]}" 2>remarks$n
  decisions remarks$n >decisions$n
done
cmp decisions0 decisions1 || { diff decisions0 decisions1 >&2; fail "the reversed source is decided otherwise"; }
cmp decisions0 decisions2 || { diff decisions0 decisions2 >&2; fail "the shuffled source is decided otherwise"; }
for site in field_new events_new rates_new; do expect_match decisions0 "^$site malloc [^ ]+ superpages\$"; done
for site in archive_new history_new labels_new; do expect_no_match decisions0 "^$site .*superpages\$"; done

"$CLANG" -O2 "$mixed/mixed.c" -o plain
# Large enough for superpages at the hot sites, small enough for a test: 8 % is an 82 MiB field, 38
# MiB of events.
"$(command -v python3)" - >measured <<'PY'
import os, subprocess
def run(program):
    out = open(f"{program}.out", "wb")
    child = subprocess.Popen([f"./{program}", "8"], stdout=out, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    print(program, os.waitstatus_to_exitcode(status), usage.ru_maxrss)
for program in ("plain", "ours0", "ours1", "ours2"):
    run(program)
PY
expect_no_match measured '^[a-z0-9]+ [^0]'
for n in 0 1 2; do cmp plain.out ours$n.out || fail "another output with the plugin (order $n)"; done
base=$(awk '/^plain/ { print $3 }' measured)
for n in 0 1 2; do
  ours=$(awk -v name=ours$n '$1 == name { print $3 }' measured)
  slack=$((base / 50 > 512 ? base / 50 : 512))
  [ "$ours" -le $((base + slack)) ] || fail "order $n: peak memory $ours KiB against $base KiB on base pages"
done
