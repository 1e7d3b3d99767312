# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SMALLOC_CONF=directives:FILE changes the decisions of a finished program in both directions,
# without recompiling. A bad file costs a warning, and a set-uid program does not read it.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_gather
"$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-rewrite=all gather.c -o app "${LINK_LIBRARY[@]}"
runs_huge ./app
"$SMALLOC" sites app --json >sites.json
ids=$(python3 -c 'import json; print("\n".join(sorted(s["id"] for s in json.load(open("sites.json"))["sites"] if s["rewritten"])))')
[ -n "$ids" ] || fail "nothing rewritten"
write_directives() { # PAGE
  echo '# smalloc.directives/1 program=test'
  for id in $ids; do echo "$id page=$1 rank=1 pmb=100.0 superpages=32 numa=- # test"; done
}
write_directives base >base.directives
write_directives 2m >huge.directives
expect_status 0 env SMALLOC_CONF=populate:always,directives:base.directives ./app
expect_match out "^$SUM huge_kib 0\$"
[ ! -s err ] || fail "$(cat err)"
runs_huge env SMALLOC_CONF=populate:always,directives:huge.directives ./app
# `smalloc run --directives` passes the file on.
expect_status 0 "$SMALLOC" run --directives base.directives -- ./app
expect_match out "^$SUM huge_kib 0\$"
# A directive puts a site on superpages that the compiler left on base pages.
sed 's/table\[index\[i\]\]/table[i]/' gather.c >stream.c
"$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-rewrite=all stream.c -o stream "${LINK_LIBRARY[@]}"
"$SMALLOC" sites stream --json >sites.json
ids=$(python3 -c 'import json; print("\n".join(sorted(s["id"] for s in json.load(open("sites.json"))["sites"] if s["rewritten"])))')
[ -n "$ids" ] || fail "nothing rewritten"
write_directives 2m >stream.directives
SUM=$(./stream | sed 's/ huge_kib.*//')
runs_huge env SMALLOC_CONF=populate:always,directives:stream.directives ./stream
# Placeholders in the name: one file for each rank of an MPI program; %% is a percent sign.
cp base.directives 'rank%3.directives'
expect_status 0 env OMPI_COMM_WORLD_RANK=3 SMALLOC_CONF=populate:always "$SMALLOC" run -q --directives 'rank%%%r.directives' -- ./app
[ ! -s err ] || fail "$(cat err)"
SUM=$(SMALLOC_CONF=heap:off ./app | sed 's/ huge_kib.*//')
expect_status 0 env OMPI_COMM_WORLD_RANK=3 SMALLOC_CONF='populate:always,directives:rank%%%r.directives' ./app
expect_match out "^$SUM huge_kib 0\$"
[ ! -s err ] || fail "$(cat err)"
expect_status 0 env OMPI_COMM_WORLD_RANK=4 SMALLOC_CONF='populate:always,directives:rank%%%r.directives' ./app
expect_match err '^smalloc: warning: directives \(rank%4.directives\): '
expect_status 0 "$SMALLOC" apply -q --directives 'rank%3.directives' -- ./app
expect_match out "^$SUM huge_kib 0\$"
# A bad file costs one line, and the program runs as before.
for bad in /nosuch "$tmp" gather.c /dev/zero; do
  expect_status 0 env SMALLOC_CONF="populate:always,directives:$bad" ./app
  [ "$(grep -c '^smalloc: warning: directives (' err)" = 1 ] || fail "$bad: $(cat err)"
  expect_match out "^sum"
done
{
  echo '# smalloc.directives/1'
  head -c 100000 /dev/urandom
} >noise.directives
expect_status 0 env SMALLOC_CONF=populate:always,directives:noise.directives ./app
# A line without pmb= passes every bar. show and merge do not treat it as a line of no benefit.
printf '# smalloc.directives/1\n0123456789abcdef page=2m\n' >plain.directives
expect_status 0 "$SMALLOC" directives show plain.directives
expect_match out '^0123456789abcdef +2m +- +- +0'
expect_status 0 "$SMALLOC" directives show plain.directives --json
json_is out 'd["directives"][0]["pmb_percent"] is None'
expect_status 0 "$SMALLOC" directives merge plain.directives base.directives -o merged.directives
expect_match merged.directives '^0123456789abcdef page=2m rank=1 superpages=0'
# They do not treat a line that was given up as one of superpages either.
{
  echo '# smalloc.directives/1'
  echo '0123456789abcdef page=2m pmb=90.0 superpages=7 held=2/7'
  echo '0123456789abcde0 page=2m pmb=80.0 superpages=5 held=4/7'
} >tried.directives
expect_status 0 "$SMALLOC" directives show tried.directives
expect_match out '^0123456789abcdef +base \(2m given up\) '
expect_match out '^2 directives, 1 on superpages \(5 superpages\)$'
sed 's/ held=.*//' tried.directives >fresh.directives
expect_status 3 "$SMALLOC" directives diff fresh.directives tried.directives --fail-if 'totals.differences == 1'
expect_match out '^0123456789abcdef +2m +base \(2m given up\)'
sed '1s/$/ verdict=slower/' fresh.directives >slower.directives
expect_status 0 "$SMALLOC" directives show slower.directives --json
json_is out '[(x["page"], x["decided"], x["given_up"]) for x in d["directives"]] == 2 * [("2m", "base", False)] and d["totals"]["on_superpages"] == 0'
# show names an invalid numa= value, since the runtime ignores it. An absurd sum of page counts is
# not printed.
{
  printf '%s\n' '# smalloc.directives/1' '0123456789abcdef page=2m numa=sideways' '0123456789abcde0 page=2m numa=preferred:0,2'
  for i in $(seq 20); do printf '00000000000000%02d page=2m numa=- superpages=999999999999999999\n' "$i"; done
} >placed.directives
expect_status 0 "$SMALLOC" directives show placed.directives --json
json_is out 'd["totals"]["superpages"] == 18446744073709551615'
expect_match err "^smalloc: warning: unknown placement \(placed.directives: 0123456789abcdef\): numa=sideways is none of local"
[ "$(wc -l <err)" -le 2 ] || fail "more than one placement is unknown: $(cat err)"
# 10,000 lines are read fast enough. The test counts system calls and instructions, since times are
# noisy. The file is read in pieces, and only the table takes memory.
python3 -c 'print("# smalloc.directives/1"); [print("%016x/%016x page=2m rank=%d pmb=%d.125 superpages=17 numa=- held=2/3 # some_function src/module/file.cpp:123" % (i, i, i, i % 100)) for i in range(10000)]' >many.directives
head -1 many.directives >no.directives
expect_status 0 env SMALLOC_CONF=populate:always,directives:many.directives ./app
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
  SMALLOC_CONF=populate:always,directives:many.directives strace -o calls ./app >/dev/null
  reads=$(sed -n '/many.directives/,/close/p' calls | grep -c '^read')
  [ "$reads" -le $(($(stat -c %s many.directives) / 65536 + 3)) ] || fail "$reads reads for one file"
fi
if command -v valgrind >/dev/null && [ "$(uname -m)" = x86_64 ] && ! grep -q '^CMAKE_BUILD_TYPE:.*=Debug$' "$SMALLOC_BUILD/CMakeCache.txt"; then
  echo 'int main(void) { return 0; }' >nothing.c
  "$CLANG" nothing.c -o nothing "${LINK_LIBRARY[@]}"
  instructions() { # NAME
    SMALLOC_CONF=directives:$1.directives valgrind --tool=callgrind --callgrind-out-file="$1.callgrind" ./nothing >/dev/null 2>&1
    sed -n 's/^totals: //p' "$1.callgrind"
  }
  a_line=$((($(instructions many) - $(instructions no)) / 10000))
  echo "$a_line instructions a line"
  # 1190 when this was written, with the agent: about 80 ns.
  [ "$a_line" -gt 50 ] && [ "$a_line" -le 1500 ] || fail "$a_line instructions a line"
fi
