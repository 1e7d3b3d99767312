# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A killed process leaves a readable trace. A full disk ends the recording and not the program.
# Other programs print the same while they are recorded.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
FEEDBACK=$SMALLOC_BUILD/lib/libsmalloc_feedback.so
[ -r "$FEEDBACK" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
cat >busy.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  long rounds = argc > 1 ? atol(argv[1]) : -1;
  unsigned x = 1;
  puts("started");
  fflush(stdout);
  for (long i = 0; i != rounds; i++) {
    x = x * 1664525u + 1013904223u;
    void *volatile p = malloc(x >> 16);
    free(p);
  }
  puts("done");
}
C
"$CC" -O1 busy.c -o busy
# Killed during a write.
LD_PRELOAD=$FEEDBACK SMALLOC_CONF=trace:killed.trace ./busy >started &
pid=$!
trap 'kill -9 $pid 2>/dev/null || true; rm -rf "$tmp"' EXIT
for _ in $(seq 200); do
  [ ! -s killed.trace ] || [ "$(stat -c %s killed.trace)" -lt 300000 ] || break
  sleep 0.05
done
kill -KILL $pid
wait $pid 2>/dev/null || true
trap 'rm -rf "$tmp"' EXIT
expect_status 0 "$SMALLOC" trace show killed.trace --json
json_is out 'd["events"]["allocations"] > 10000 and not d["complete"]'
# A process that ends without destructors still writes its end.
cat >quick.c <<'C'
#include <stdlib.h>
int main(void) {
  for (int i = 0; i < 1000; i++) {
    void *volatile p = malloc(100);
    free(p);
  }
  quick_exit(3);
}
C
"$CC" -O1 quick.c -o quick
expect_status 3 env LD_PRELOAD="$FEEDBACK" SMALLOC_CONF=trace:quick.trace ./quick
expect_status 0 "$SMALLOC" trace show quick.trace --json
json_is out 'd["events"]["allocations"] >= 1000 and d["complete"]'
# A file size limit simulates a full disk; the program continues, with one message.
(ulimit -f 64 && LD_PRELOAD=$FEEDBACK SMALLOC_CONF=trace:full.trace ./busy 300000 >out 2>err) || fail "the program failed"
expect_match out '^done$'
[ "$(grep -c 'no space is left for the file; recording stopped' err)" = 1 ] || fail "$(cat err)"
expect_status 0 "$SMALLOC" trace show full.trace --json
json_is out 'd["events"]["allocations"] > 1000'
# The process was not killed: the rest of the trace shows that.
expect_status 0 "$SMALLOC" analyze -q --no-db full.trace
expect_match err 'truncated trace \(full.trace\): .*the disk was full'
# A history that does not fit does not change the command's status either.
status=0
(ulimit -f 64 && "$SMALLOC" record -q -o limited.trace -- sh -c './busy 300000 >/dev/null; exit 7' >out 2>err) || status=$?
[ "$status" = 7 ] || fail "record under a limit of file sizes: status $status: $(cat err)"
# A folder that cannot be written costs a warning.
expect_status 0 env LD_PRELOAD="$FEEDBACK" SMALLOC_CONF=trace:/nosuch/t ./busy 10
expect_match err '^smalloc: warning: trace \(/nosuch/t\): No such file or directory; nothing is recorded$'
expect_match err '^hint: trace:FILE, in a folder that is there'
# A folder that exists gets the trace. Any other file in its place stays, and no other file is left.
mkdir traces
for folder in traces traces/; do
  expect_status 0 env LD_PRELOAD="$FEEDBACK" SMALLOC_CONF=trace:$folder ./busy 10
  [ ! -s err ] || fail "$(cat err)"
done
set -- traces/smalloc.busy.*.trace
[ $# = 2 ] || fail "traces/ holds: $(ls traces)"
expect_status 0 "$SMALLOC" trace show "$1" --json
json_is out 'd["complete"] and d["events"]["allocations"] >= 10'
! compgen -G 'traces.*' >/dev/null || fail "a trace beside the folder"
mkfifo pipe
expect_status 0 env LD_PRELOAD="$FEEDBACK" SMALLOC_CONF=trace:pipe ./busy 10
expect_match err '^smalloc: warning: trace \(pipe\): it exists and is not a regular file; nothing is recorded$'
! compgen -G 'pipe.*' >/dev/null || fail "a trace beside the pipe"
# A file of an earlier run stays. One message for the whole run, not one a process, names the place
# of this run's trace.
expect_status 0 env LD_PRELOAD="$FEEDBACK" SMALLOC_CONF=trace:again.trace sh -c './busy 10; ./busy 10'
[ ! -s err ] || fail "$(cat err)"
sleep 0.1 # the kernel's ticks
expect_status 0 env LD_PRELOAD="$FEEDBACK" SMALLOC_CONF=trace:again.trace sh -c './busy 10; exec ./busy 10'
[ "$(wc -l <err)" = 1 ] || fail "$(cat err)"
expect_match err "^smalloc: note: trace \(again.trace\): it exists already; this run writes again.trace.[0-9]+$"
# Without the key the library has no effect.
expect_status 0 env LD_PRELOAD="$FEEDBACK" ./busy 10
[ ! -s err ] || fail "$(cat err)"

same() { # NAME CMD...: prints the same, recorded or not
  local name=$1
  shift
  "$@" >want 2>want.err || fail "$name fails by itself"
  LD_PRELOAD=$FEEDBACK SMALLOC_CONF="trace:$tmp/$name.%p.trace" "$@" >got 2>got.err || fail "$name fails: $(cat got.err)"
  cmp want got || fail "$name prints something else"
  cmp want.err got.err || fail "$name complains"
  cat "$tmp/$name".*.trace >/dev/null || fail "$name left no trace"
}
same bash bash -c 'for i in {1..500}; do x+=" $i"; done; echo ${#x} $(echo "$x" | md5sum); (exit 3); echo $?'
same python python3 -c 'import json,threading
d={str(i):[i]*20 for i in range(5000)}; s=json.dumps(d)
r=[]; t=[threading.Thread(target=lambda k=k: r.append(sum(range(k*1000)))) for k in range(8)]
[x.start() for x in t]; [x.join() for x in t]; print(len(s), json.loads(s)==d, sorted(r))'
cat >throw.cpp <<'C'
#include <cstdio>
#include <map>
#include <new>
#include <string>
#include <vector>
int main() {
  std::map<int, std::string> m;
  for (int i = 0; i < 1000; i++)
    m[i] = std::string(static_cast<size_t>(i), 'x');
  try {
    volatile size_t many = ~size_t{0} / 4;
    std::vector<long> v(many / 8);
    return 1;
  } catch (const std::bad_alloc &) {
    std::puts("bad_alloc");
  }
  struct alignas(128) Wide { char c[256]; };
  auto *w = new Wide[3];
  std::printf("%d %zu\n", static_cast<int>(reinterpret_cast<size_t>(w) % 128), m[999].size());
  delete[] w;
}
C
CXX=$(command -v "$CLANGXX" || command -v g++ || true)
if [ -n "$CXX" ]; then
  "$CXX" -std=c++17 -O1 throw.cpp -o throw
  same throw ./throw
fi

# A folder gets the trace.
mkdir "$tmp/kept"
for folder in "$tmp/kept" "$tmp/kept/" .; do
  (cd "$tmp/kept" && expect_status 0 "$SMALLOC" record -o "$folder" -- "$tmp/busy" 10 && expect_match err '1 trace; next: smalloc analyze .*smalloc.busy.[0-9]+.trace')
  rm "$tmp"/kept/smalloc.busy.[0-9]*.trace
done
# A file that is no trace stays, although the trace should go there.
echo keep >"$tmp/kept.txt"
expect_status 125 "$SMALLOC" record -o "$tmp/kept.txt" -- true
expect_match err 'cannot record \(.*kept.txt\): it exists and is not a trace'
[ -d "$tmp/kept" ] && [ "$(cat "$tmp/kept.txt")" = keep ] || fail "record removed what was no trace"
# Reported before the command runs.
for place in nosuch/t.trace busy/t.trace; do
  expect_status 125 "$SMALLOC" record -o $place -- touch ran
  expect_match err '^smalloc: error: cannot record \('
  [ ! -e ran ] || fail "it ran without a place for its trace"
done
expect_status 125 "$SMALLOC" record -o /dev/full -- touch ran
expect_match err '^hint: smalloc record -o OTHER-NAME'
