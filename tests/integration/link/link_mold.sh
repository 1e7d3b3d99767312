#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# mold resolves the weak references of an executable to 0. Linked with libsmalloc, its sites are
# served. Without, the command reports that in one line, and the cure named there works.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
need_linker mold
link_matrix -fuse-ld=mold
compile=(-O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-rewrite=all -ffunction-sections -fdata-sections)
export SMALLOC_CONF=populate:always,stats:exit
counts_site() { # COMMAND...: the table is charged to its site
  runs_huge "$@"
  expect_match err 'site: .* in gather gather.c:'
}
entries() { # STATUS FILE: doctor's result
  expect_status 0 "$SMALLOC" doctor --json "$2"
  json_is out "[c['status'] for c in d['checks'] if c['name'] == 'program-entries'] == ['$1']"
}
unserved="^smalloc: warning: the compiler's decisions have no effect"

# A linked library keeps the references open, also with dropped sections and in libraries.
quietly "$CLANG" "${compile[@]}" -fuse-ld=mold -Wl,--gc-sections gather.c "${LINK_LIBRARY[@]}" -o linked
counts_site ./linked
entries ok linked
quietly "$CLANG" "${compile[@]}" -fuse-ld=mold -Wl,--gc-sections -fPIC -shared -DTABLE_ONLY gather.c -o libtable.so
quietly "$CLANG" -O2 -fuse-ld=mold -DMAIN_ONLY gather.c ./libtable.so -o user
counts_site env LD_PRELOAD="$LIB" ./user

# A program without it: served as a program without the plugin, with a message.
quietly "$CLANG" "${compile[@]}" -fuse-ld=mold gather.c -o closed
runs_right env LD_PRELOAD="$LIB" ./closed
expect_no_match err 'in gather gather.c:'
entries warn closed
for verb in run "apply --directives none.directives"; do
  echo '# smalloc.directives/1' >none.directives
  # shellcheck disable=SC2086
  runs_right "$SMALLOC" $verb -- ./closed
  expect_match err "$unserved \(.*closed\): .* mold [0-9.]+ does so in executables"
  [ "$(grep -c 'warning' err)" = 1 ] || fail "more than one line of warning"
done
cure=$("$SMALLOC" doctor --json ./closed |
  python3 -c 'import json, sys; print([c["fix"] for c in json.load(sys.stdin)["checks"] if c["name"] == "program-entries"][0])')
case $cure in
*-fuse-ld=lld*) links=("-fuse-ld=lld") ;;
*) links=("-fuse-ld=mold ${cure#link with }") ;;
esac
has_linker lld || [[ ${links[0]} != *lld ]] || links=()
for link in "${links[@]}"; do
  # shellcheck disable=SC2086
  quietly "$CLANG" "${compile[@]}" $link gather.c -o cured
  counts_site "$SMALLOC" run -- ./cured
  expect_no_match err "$unserved"
  entries ok cured
done
if [ -x "$BIN/smalloc-cc" ]; then
  quietly "$BIN/smalloc-cc" -O2 -fuse-ld=mold gather.c -o wrapped
  counts_site ./wrapped
  entries ok wrapped
fi
# The same with other linkers, with the option that resolves weak references.
if has_linker lld; then
  quietly "$CLANG" "${compile[@]}" -fuse-ld=lld -Wl,-z,nodynamic-undefined-weak gather.c -o closed
  expect_status 0 "$SMALLOC" run -- ./closed
  expect_match err "$unserved \(.*closed\): .* nodynamic-undefined-weak"
fi
end_thp
