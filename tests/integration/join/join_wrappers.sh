#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Through one xmalloc, two units deep: the table that another unit reads at random gets superpages,
# and the streamed buffer does not. A wrapper that the linker replaces, or another library
# interposes, is still called.
. "$(dirname "$0")/../support/lib.sh"
export SMALLOC_CONF=heap:guest,populate:always # only the decisions; heap:auto also gives superpages to filled objects
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
source=$SMALLOC_SOURCE/tests/integration/fixtures/wrappers.c
for unit in 0 1 2 3; do
  for how in pie pic; do
    quietly "$CLANG" -O2 -f$how -fplugin="$PLUGIN" -fplugin-arg-smalloc-machine=zen4 -DUNIT=$unit -c "$source" -o $how$unit.o
  done
  "$CLANG" -O2 -DUNIT=$unit -c "$source" -o plain$unit.o
done
"$CLANG" plain?.o -o plain
./plain >expected
same_sum() { cmp -s <(grep '^sum' out) <(grep '^sum' expected) || { cat out >&2; fail "another sum: $*"; }; }
kib() { sed -n "s/$1 huge_kib //p" out; }
thp() { case $(thp_mode) in madvise | always) ;; *) return 1 ;; esac; }

for linker in bfd gold lld; do
  command -v ld.$linker >/dev/null || [ -x /usr/lib/llvm-22/bin/ld.$linker ] || { echo "no ld.$linker"; continue; }
  quietly "$CLANG" -fuse-ld=$linker -Wl,--gc-sections pie?.o -o program
  expect_status 0 ./program
  same_sum plain
  expect_status 0 env LD_PRELOAD="$LIB" ./program
  same_sum "$linker"
  if thp; then
    [ "$(kib hot)" -ge 2048 ] || { cat out >&2; fail "the hot table is not on superpages ($linker)"; }
    [ "$(kib cold)" = 0 ] || { cat out >&2; fail "the cold buffer is on superpages ($linker)"; }
  fi
done

# The contexts are listed with the reason. A call that only looks like an allocation is not listed.
expect_status 0 "$SMALLOC" sites --json program
python3 - <<'PY'
import json
sites = json.load(open("out"))["sites"]
hot = [s for s in sites if s["function"] == "main" and s["callee"] == "vector_new" and s["joined"]]
assert len(hot) == 1 and "through argument 1 of walk" in hot[0]["why"], hot
assert hot[0]["decision"] == "runtime" and hot[0]["rewritten"], hot
cold = [s for s in sites if s["function"] == "main" and s["callee"] == "vector_new" and not s["joined"]]
assert len(cold) == 1 and cold[0]["pattern"] == "streaming", cold
assert any(s["function"] == "vector_new" and s["callee"] == "xmalloc" for s in sites), sites
assert not any(s["callee"] == "not_an_allocator" for s in sites), sites
PY
expect_match err 'note: .*1 call left out'

# In a unit that was not compiled with the plugin the wrapper is an ordinary function.
quietly "$CLANG" plain0.o pie1.o pie2.o pie3.o -o half
expect_status 0 env LD_PRELOAD="$LIB" ./half
same_sum half

# --wrap: the program's own xmalloc precedes the wrapper and must be called.
cat >wrap.c <<'C'
#include <stdio.h>
#include <stddef.h>
void *__real_xmalloc(size_t n);
void *__wrap_xmalloc(size_t n) { return fputs("wrapped\n", stdout), __real_xmalloc(n); }
C
"$CLANG" -O2 -c wrap.c -o wrap.o
quietly "$CLANG" pie?.o wrap.o -Wl,--wrap=xmalloc -o wrapped
expect_status 0 env LD_PRELOAD="$LIB" ./wrapped
same_sum --wrap
[ "$(grep -c '^wrapped$' out)" = 3 ] || { cat out >&2; fail "__wrap_xmalloc was passed by"; }

# A wrapper in a library that the executable interposes.
quietly "$CLANG" -shared pic0.o pic1.o pic3.o -o libwrappers.so
cat >interpose.c <<'C'
#include <stdio.h>
#include <stdlib.h>
void *xmalloc(size_t n) { return fputs("interposed\n", stdout), malloc(n); }
C
"$CLANG" -O2 -c interpose.c -o interpose.o
quietly "$CLANG" -rdynamic plain2.o interpose.o ./libwrappers.so -o interposed
expect_status 0 env LD_PRELOAD="$LIB" ./interposed
same_sum interposed
[ "$(grep -c '^interposed$' out)" = 3 ] || { cat out >&2; fail "the executable's xmalloc was passed by"; }
end_thp
