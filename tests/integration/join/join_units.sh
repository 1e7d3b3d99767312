#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Memory that one unit allocates and another walks at random gets superpages, and `smalloc sites`
# prints the reason. Memory that no unit walks does not. Through every linker, after strip, with
# garbage collection, and in a library that is opened and closed.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
source=$SMALLOC_SOURCE/tests/integration/fixtures/keys.c
units=()
for unit in 0 1 2; do
  quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-machine=zen4 -fplugin-arg-smalloc-first-touch=off -DUNIT=$unit -c "$source" -o "unit$unit.o"
  units+=("unit$unit.o")
done

# row FUNCTION CALLEE: prints decision, reason and `joined` of the only site of that function and
# callee that fits the pattern $3
row() {
  python3 - "$@" <<'PY'
import json, re, sys
rows = [s for s in json.load(open("out"))["sites"] if s["function"] == sys.argv[1] and re.search(sys.argv[2], s["why"])]
assert len(rows) == 1, (sys.argv[1:], [(s["function"], s["why"]) for s in json.load(open("out"))["sites"]])
s = rows[0]
want = dict(a.split("=") for a in sys.argv[3:])
for key, value in want.items():
    assert json.dumps(s[key]).strip('"') == value, (key, s[key], value)
PY
}
check_sites() {
  expect_status 0 "$SMALLOC" sites --json "$1"
  [ ! -s err ] || { cat err >&2; fail "sites complains about $1"; }
  row table_new 'picked at random .*keys\.c\), through byte 8 of struct table$' decision=runtime joined=true undecided=false
  # decided in the unit that walks it, at the call of the function that returns it
  row grid_sum 'picked at random' decision=runtime callee=grid_new joined=false
  row rows_new '^picked .*through argument 1 of rows_sum' decision=runtime small_objects=true joined=true
  python3 -c 'import json; assert not any(s["joined"] for s in json.load(open("out"))["sites"] if s["function"] == "log_new")'
  python3 -c 'import json; assert json.load(open("out"))["joined"] is True'
}
runs() { # DECIDED CMD...: correct sums; the table is on superpages if the image's decision is known
  local decided=$1
  shift
  expect_status 0 "$@"
  expect_match out '^sum '
  cmp -s <(grep '^sum' out) <(grep '^sum' expected) || fail "other sums"
  case $(thp_mode) in madvise | always) ;; *) return 0 ;; esac
  local kib
  kib=$(sed -n 's/table huge_kib //p' out)
  if [ "$decided" = yes ]; then [ "$kib" -ge 24576 ] || fail "$kib KiB of the table on superpages: $*"; fi
  # The log's mapping may be a neighbour of the table's. A mapping of the log alone must not have
  # superpages.
  [ "$decided" = yes ] || [ "$kib" = 0 ] || fail "$kib KiB on superpages: $*"
}
for unit in 0 1 2; do
  "$CLANG" -O2 -DUNIT=$unit -c "$source" -o plain$unit.o
done
"$CLANG" plain0.o plain1.o plain2.o -o plain
./plain >expected

for linker in bfd gold lld; do
  ! misses_linker $linker || continue
  for flags in "-pie" "-no-pie -Wl,--gc-sections"; do
    # shellcheck disable=SC2086
    quietly "$CLANG" $flags -fuse-ld=$linker "${units[@]}" -o program
    check_sites ./program
    runs no ./program
    runs yes env LD_PRELOAD="$LIB" ./program
  done
done
strip program
check_sites ./program
llvm-objcopy-22 --strip-sections program no_headers 2>/dev/null || objcopy --strip-section-headers program no_headers 2>/dev/null || cp program no_headers
expect_status 0 "$SMALLOC" sites --json no_headers
expect_match out '"joined": ?true'

# One unit alone has no information about the other.
quietly "$CLANG" unit0.o plain1.o unit2.o -o half
expect_status 0 "$SMALLOC" sites --json half
python3 -c 'import json; d = json.load(open("out")); assert not any(s["joined"] for s in d["sites"] if s["function"] == "table_new"), d'

# A library takes its summary along when it is closed.
for unit in 0 1 2; do
  quietly "$CLANG" -O2 -fPIC -fplugin="$PLUGIN" -fplugin-arg-smalloc-first-touch=off -DUNIT=$unit -Dmain=library_main -c "$source" -o "pic$unit.o"
done
quietly "$CLANG" -shared pic0.o pic1.o pic2.o -o libkeys.so
cat >open.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
  for (int round = 0; round < 3; round++) {
    void *library = dlopen("./libkeys.so", RTLD_NOW);
    int (*run)(void) = library ? (int (*)(void))dlsym(library, "library_main") : 0;
    if (!run)
      return puts(dlerror()), 1;
    if (round == 2)
      run();
    dlclose(library);
  }
  return 0;
}
C
quietly "$CLANG" open.c -o open
runs no ./open
runs yes env LD_PRELOAD="$LIB" ./open

# Truncated and damaged: the process also reads the program's own section.
python3 - <<'PY'
import re
data = bytearray(open("program", "rb").read())
at = data.find(b"SMK1")
assert at > 0
for name, field, value in (("count", 12, 0x7fffffff), ("bytes", 8, 0xfffffff8), ("version", 4, 9)):
    bad = bytearray(data)
    bad[at + field:at + field + 4] = value.to_bytes(4, "little")
    open(f"damaged_{name}", "wb").write(bad)
PY
for name in count bytes version; do
  chmod +x damaged_$name
  LD_PRELOAD=$LIB ./damaged_$name >out || fail "damaged $name"
  cmp -s <(grep '^sum' out) <(grep '^sum' expected) || fail "damaged $name: other sums"
  expect_status 0 "$SMALLOC" sites damaged_$name
done
end_thp
