# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# smalloc study: page sizes take effect and are counted, a failing run ends the study, files contain
# every run.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
[ -e "$PRELOAD" ] || skip "libsmalloc.so was not built"
# A program with known page behaviour: 64 MiB of heap, all written, held for half a second.
cat >touch.c <<'C'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
  size_t bytes = (size_t)64 << 20;
  char *p = malloc(bytes);
  memset(p, argc, bytes);
  usleep(500000);
  return argc > 1 ? atoi(argv[1]) : p[bytes / 2] != argc;
}
C
"$CC" -O1 touch.c -o touch
expect_status 0 "$SMALLOC" study --pages base,program -r 3 --csv runs.csv --plot pages.svg --json -- ./touch
json_is out 'd["schema"] == "smalloc.study/1" and d["configurations"] == ["base", "program"]'
json_is out '[len(c["results"]) for c in d["commands"]] == [2] and d["commands"][0]["command"] == ["./touch"]'
json_is out 'all(r["runs"] == 3 for r in d["commands"][0]["results"])'
# 64 MiB are 16,384 base pages: that many faults, all of it heap, none on superpages.
json_is out 'd["commands"][0]["results"][0]["page_faults"] > 16384'
json_is out 'd["commands"][0]["results"][0]["footprint"]["maximum_bytes"] >= 64 << 20'
json_is out '[s["thp_bytes"] for s in d["commands"][0]["results"][0]["footprint"]["segments"]] == [0] * 5'
json_is out '[s["base_bytes"] >= 60 << 20 for s in d["commands"][0]["results"][0]["footprint"]["segments"]] == [True] + [False] * 4'
json_is out 'd["commands"][0]["results"][0]["below_noise"] is None and type(d["commands"][0]["results"][1]["below_noise"]) is bool'
[ "$(wc -l <runs.csv)" = 7 ] || fail "not one line a run"
python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse("pages.svg")' || fail "the picture is no XML"

case $(thp_mode) in
madvise | always)
  expect_status 0 "$SMALLOC" study --pages base,thp -r 1 --json -- ./touch
  json_is out 'd["commands"][0]["results"][1]["footprint"]["segments"][0]["thp_bytes"] >= 32 << 20'
  json_is out 'd["commands"][0]["results"][1]["page_faults"] < 4096'
  # 4 MiB of the stack, written and held: on superpages if requested, counted as stack in both
  # cases.
  cat >stack.c <<'C'
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) static int hold(int value) {
  volatile char data[4 << 20];
  memset((char *)data, value, sizeof data);
  usleep(500000);
  return data[value * 4096] != value;
}
int main(int argc, char **argv) { return hold(argc) || !argv[0]; }
C
  "$CC" -O1 stack.c -o stack
  if [ "$(ulimit -s)" = unlimited ] || [ "$(ulimit -s)" -ge 8192 ]; then
    expect_status 0 "$SMALLOC" study --pages base,stack -r 1 --json -- ./stack
    json_is out '[s["base_bytes"] >= 4 << 20 for s in d["commands"][0]["results"][0]["footprint"]["segments"] if s["name"] == "stack"] == [True]'
    json_is out '[s["thp_bytes"] >= 2 << 20 for s in d["commands"][0]["results"][1]["footprint"]["segments"]] == [False, False, True, False, False]'
    json_is out '[s["average_thp_bytes"] > 0 for s in d["commands"][0]["results"][1]["footprint"]["segments"]] == [False, False, True, False, False]'
  fi
  # Separate segments: 64 MiB of static data on superpages, the heap not.
  cat >static.c <<'C'
#include <string.h>
#include <unistd.h>
static char data[64 << 20];
int main(int argc, char **argv) {
  memset(data, argc, sizeof data);
  usleep(500000);
  return data[argc * 4096] != argc || !argv[0];
}
C
  "$CC" -O1 static.c -o static
  expect_status 0 "$SMALLOC" study --pages base,static -r 1 --json -- ./static
  json_is out '[s["base_bytes"] >= 60 << 20 for s in d["commands"][0]["results"][0]["footprint"]["segments"]] == [False, True, False, False, False]'
  json_is out '[s["thp_bytes"] >= 32 << 20 for s in d["commands"][0]["results"][1]["footprint"]["segments"]] == [False, True, False, False, False]'
  ;;
*) expect_error 1 'no such pages on this system \(thp\)' "$SMALLOC" study --pages thp -- ./touch ;;
esac

# The command's output is discarded; its children count.
expect_status 0 "$SMALLOC" study --pages base -r 1 --json -- sh -c 'echo noise; ./touch; echo more'
json_is out 'd["commands"][0]["results"][0]["footprint"]["maximum_bytes"] >= 64 << 20'
printf '# gone\nfirst: ./touch\n\nsecond: ./nosuch 1\n' >gone.txt
expect_error 1 'cannot use the suite \(gone.txt\): line 4: no program ./nosuch' "$SMALLOC" study --suite gone.txt
expect_match err '^hint: one command a line'
expect_error 1 'cannot read the suite \(/\): it is a directory' "$SMALLOC" study --suite /
expect_match err '^hint: one command a line'
printf '# two\nfirst: ./touch\nsh -c "exit 0"\n' >suite.txt
expect_status 0 "$SMALLOC" study --suite suite.txt --pages base -r 1 --config 'mine=heap:auto,stats:off'
expect_match out 'GEOMETRIC MEAN'
expect_match out '^first +base '
expect_match out '^ +mine +[0-9.]+ +- .*too few runs to tell'

expect_error 1 'the command failed \(touch, pages base\): exit status 7' "$SMALLOC" study --pages base -r 1 -- ./touch 7
expect_status 0 "$SMALLOC" study --pages base -r 1 --ignore-failure -- ./touch 7
expect_error 1 'the command failed .*: signal 11' "$SMALLOC" study --pages base -r 1 -- sh -c 'kill -SEGV $$'
expect_error 1 'cannot run the command \(./nosuch\): no such file' "$SMALLOC" study --pages base -- ./nosuch
printf "./a 'b\n" >bad.txt
expect_error 1 'cannot use the suite \(bad.txt\): line 1: a quote' "$SMALLOC" study --suite bad.txt
expect_error 2 'unknown pages \(3m\)' "$SMALLOC" study --pages 3m -- ./touch
expect_error 2 'no command to run' "$SMALLOC" study
expect_error 2 'is not NAME=KEY:VALUE' "$SMALLOC" study --config nonsense -- ./touch
expect_error 3 'threshold crossed' "$SMALLOC" study --pages base,program -r 1 --fail-if 'commands.0.results.0.page_faults > 10' -- ./touch
# The chosen metric is compared: a sleeping program takes time, but no processor time.
expect_status 0 "$SMALLOC" study --pages base -r 1 --metric wall --json -- sleep 0.4
json_is out 'd["metric"] == "wall" and d["commands"][0]["results"][0]["seconds"]["median"] >= 0.4'
expect_status 0 "$SMALLOC" study --pages base -r 1 --metric user --json -- sleep 0.4
json_is out 'd["metric"] == "user" and d["commands"][0]["results"][0]["seconds"]["median"] < 0.2'
expect_status 0 "$SMALLOC" study --pages base -r 2 --show-output -- echo "what it says"
[ "$(grep -c '^what it says$' out)" = 2 ] || fail "the command's output is not shown: $(cat out)"
expect_status 0 "$SMALLOC" study --pages base -r 1 -- echo "what it says"
expect_no_match out '^what it says$'
expect_error 1 'cannot write the result' "$SMALLOC" study --pages base -r 1 --csv /nosuch/x.csv -- ./touch
# A missing key is reported before the runs; a missing key below a list, when the result is printed.
expect_error 2 "no key 'nosuch'" "$SMALLOC" study --pages base -r 1 --fail-if 'nosuch > 1' -- sh -c 'echo >has-run'
[ ! -e has-run ] || fail "ran before it looked at the threshold"
expect_status 2 "$SMALLOC" study --pages base -r 1 --fail-if 'commands.0.nosuch > 1' -- ./touch
expect_match err "no key 'commands.0.nosuch'"
expect_match out '^touch +base '
# A configuration equal to the default is refused.
expect_error 2 "--config x=nonsense\\): 'nonsense' is not a known key" "$SMALLOC" study --config x=nonsense -- ./touch
expect_error 2 "'heap:nonsense' has a value that is not understood: heap is auto, off, superpage, migrate or guest" \
  "$SMALLOC" study --config x=stats:off,heap:nonsense -- ./touch
# No sample of the memory was taken in time: the page sizes are unknown.
expect_status 0 "$SMALLOC" study --pages base -r 1 --interval 3600 -- true
expect_match out '^true +base .* - *$'
expect_match out '^-: the command ended before the first sample of its memory'
# "auto" is the behaviour of smalloc run; the user's own settings stay.
expect_status 0 env SMALLOC_CONF=promote:calls "$SMALLOC" study --pages auto -r 1 -- sh -c 'echo "$SMALLOC_CONF" >conf'
grep -qx 'promote:calls,heap:auto' conf || fail "settings of auto: $(cat conf)"
