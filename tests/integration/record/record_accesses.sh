#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Recorded accesses of every thread, in children of fork, with signal handlers and longjmp in
# between, and of a killed process. The program's behaviour does not change, and it runs without the
# library.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
FEEDBACK=$SMALLOC_BUILD/lib/libsmalloc_feedback.so
[ -r "$FEEDBACK" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
generate=(-O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate)
cat >app.c <<'C'
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
enum { kPages = 2000, kRounds = 50000 };
static volatile unsigned char *shared; // a read whose value is unused also counts
static volatile sig_atomic_t beats;
static uint64_t gather(volatile unsigned char *a, uint64_t seed) {
  uint64_t sum = 0;
  for (int i = 0; i < kRounds; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    sum += a[(seed >> 40) % kPages * 4096];
  }
  return sum;
}
static void *work(void *seed) { return (void *)(uintptr_t)gather(shared, (uintptr_t)seed); }
static void beat(int signal) {
  (void)signal;
  beats += shared[(unsigned)beats % kPages * 4096u] != 255;
}
static jmp_buf back;
static int again(int depth) {
  if (depth == 0)
    longjmp(back, 1);
  return again(depth - 1) + shared[depth * 4096];
}
int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  uint64_t sum = 0;
  shared = malloc((size_t)kPages * 4096);
  for (size_t i = 0; i < (size_t)kPages * 4096; i += 64)
    shared[i] = (unsigned char)(i >> 12);
  if (strcmp(what, "threads") == 0) {
    pthread_t t[4];
    void *result;
    for (uintptr_t i = 0; i < 4; i++)
      pthread_create(&t[i], NULL, work, (void *)(i + 1));
    for (int i = 0; i < 4; i++) {
      pthread_join(t[i], &result);
      sum += (uintptr_t)result;
    }
  } else if (strcmp(what, "fork") == 0) {
    int status;
    if (fork() == 0)
      exit((int)(gather(shared, 5) & 63));
    wait(&status);
    sum = gather(shared, 6) + (uint64_t)WEXITSTATUS(status);
  } else if (strcmp(what, "signals") == 0) {
    struct itimerval often = {{0, 200}, {0, 200}};
    signal(SIGALRM, beat);
    setitimer(ITIMER_REAL, &often, NULL);
    while (beats < 200)
      sum = gather(shared, 7);
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
  } else if (strcmp(what, "longjmp") == 0) {
    for (volatile int i = 0; i < 1000; i++)
      if (setjmp(back) == 0)
        again(i % 10 + 1);
    sum = gather(shared, 8);
  } else if (strcmp(what, "forever") == 0) {
    puts("started");
    fflush(stdout);
    for (uint64_t i = 0;; i++)
      sum += gather(shared, i);
  }
  printf("%s %lu\n", what, (unsigned long)sum);
  return 3;
}
C
"$CLANG" -O2 app.c -o plain -pthread
quietly "$CLANG" "${generate[@]}" app.c -o app -pthread
for what in threads fork signals longjmp; do
  expect_status 3 ./plain $what
  mv out want
  expect_status 3 ./app $what # without the library
  cmp want out || fail "$what: the instrumented program prints something else"
  expect_status 3 "$SMALLOC" record -q --rate 1 -o $what.trace -- ./app $what
  cmp want out || fail "$what: the recorded program prints something else"
  [ ! -s err ] || fail "$what: $(cat err)"
  expect_status 0 "$SMALLOC" trace show $what.trace --json
  mv out $what.json
  json_is $what.json 'd["complete"] and d["events"]["lost"] <= 5 and d["skipped_bytes"] == 0'
done
! compgen -G 'smalloc.app.*' >/dev/null || fail "a program without the library left a trace"
# 4 x 50,000 random pages of 2,000: 32 in 2,000 are among the last 32 of their access; and the 2,000
# pages of the first loop.
json_is threads.json '0.975 * 202000 <= d["events"]["access_runs"] <= 0.99 * 202000 and d["totals"]["threads"] == 5'
json_is fork.json '0.975 * 52000 <= d["events"]["access_runs"] <= 0.99 * 52000'
expect_status 0 "$SMALLOC" trace show fork.trace.* --json
json_is out '0.975 * 50000 <= d["events"]["access_runs"] <= 0.99 * 50000 and d["complete"]'
json_is longjmp.json 'd["events"]["access_runs"] >= 0.975 * 52000'
json_is signals.json 'd["events"]["access_runs"] >= 0.975 * 52000'

# Loops that are left early, in several ways, have recorded exactly the accesses that they made. The
# order of pages repeats no page before 48 others, so each access is recorded.
cat >exits.c <<'C'
#include <stdio.h>
#include <stdlib.h>
enum { kPages = 4001 };
static unsigned char *a;
#define AT(i) a[(unsigned long)(i) * 1013 % kPages * 4096]
__attribute__((noinline)) static long returns(long i, long last) {
  for (long sum = 0;; i++) {
    sum += AT(i);
    if (i == last)
      return sum;
  }
}
__attribute__((noinline)) static long leaves_both(long i, long rows, long columns, long last) {
  long sum = 0;
  for (long r = 0; r < rows; r++)
    for (long c = 0; c < columns; c++, i++) {
      sum += AT(i);
      if (i == last)
        goto out;
    }
out:
  return sum + i;
}
__attribute__((noinline)) static long some(long first, long n) {
  long sum = 0;
  for (long i = first; i < first + n; i++)
    switch (i % 3) {
    case 0:
      sum += AT(i);
      AT(i + 2000) = (unsigned char)i;
      break;
    case 1:
      sum -= AT(i);
    }
  return sum;
}
int main(int argc, char **argv) {
  long rounds = argc > 1 ? atol(argv[1]) : 1, sum = 0;
  a = calloc(kPages, 4096);
  if (!a)
    return 1;
  for (long r = 0; r < rounds; r++) {
    sum += returns(r, r + 199);
    sum += leaves_both(r + 500, 10, 100, r + 500 + 249);
    sum += some(3 * r + 1000, 300);
  }
  printf("%ld\n", sum);
  return 0;
}
C
"$CLANG" -O2 exits.c -o exits.plain
quietly "$CLANG" "${generate[@]}" exits.c -o exits
for rounds in 10 110; do
  ./exits.plain $rounds >want
  expect_status 0 "$SMALLOC" record -q --rate 1 -o exits.trace -- ./exits $rounds
  cmp want out || fail "exits $rounds: the recorded program prints something else"
  expect_status 0 "$SMALLOC" trace show exits.trace --json
  mv out exits.$rounds.json
done
json_is exits.110.json "d['events']['access_runs'] - json.load(open('exits.10.json'))['events']['access_runs'] == 100 * (200 + 250 + 300)"

# Killed: the written part is readable.
LD_PRELOAD=$FEEDBACK SMALLOC_CONF=trace:killed.trace,rate:1 ./app forever >started &
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
json_is out 'd["events"]["access_runs"] > 50000 and not d["complete"]'

# Linked with the library, the program writes a trace by itself, in the compiled-in directory;
# trace:off and trace:FILE take precedence.
mkdir traces
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate=traces app.c -pthread -o linked \
  -L"$LIBDIR" -Wl,--no-as-needed -lsmalloc_feedback -lsmalloc -Wl,-rpath,"$LIBDIR"
expect_status 3 env SMALLOC_CONF=rate:1 ./linked threads
expect_match out '^threads [0-9]+$'
[ ! -s err ] || fail "$(cat err)"
set -- traces/smalloc.linked.*.trace
[[ $# = 1 && -s $1 ]] || fail "traces/ holds: $(ls traces)"
expect_status 0 "$SMALLOC" trace show "$1" --json
json_is out 'd["complete"] and d["source"] == "instrumented" and d["events"]["access_runs"] > 1000'
rm traces/*
expect_status 3 env SMALLOC_CONF=trace:off ./linked threads
expect_status 3 env SMALLOC_CONF=trace:named.trace ./linked threads
echo '# smalloc.directives/1 machine=zen4' >some.directives
expect_status 3 env SMALLOC_CONF=directives:some.directives ./linked threads # a recording would ignore the directives
[ -z "$(ls traces)" ] || fail "traces/ holds: $(ls traces)"
expect_status 3 env SMALLOC_CONF=directives:some.directives,trace:both.trace ./linked threads
[ -s both.trace ] || fail "trace:FILE was not obeyed beside directives:"
expect_match err "^smalloc: warning: SMALLOC_CONF: 'directives' have no effect while 'trace' records\$"
[ -s named.trace ] || fail "trace:FILE was not obeyed"
# The recorder precedes libsmalloc, which does not mistake it for another allocator.
expect_status 3 env SMALLOC_CONF=trace:off ./linked longjmp
[ ! -s err ] || fail "$(cat err)"
# A missing folder is created.
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate=made/deep app.c -pthread -o maker \
  -L"$LIBDIR" -Wl,--no-as-needed -lsmalloc_feedback -lsmalloc -Wl,-rpath,"$LIBDIR"
expect_status 3 ./maker longjmp
[ ! -s err ] || fail "$(cat err)"
compgen -G 'made/deep/smalloc.maker.*.trace' >/dev/null || fail "no trace in made/deep"
# An invalid share is reported once, by either library, and the default is used.
for bad in 0 2 x -1 0.1x; do
  expect_status 3 env SMALLOC_CONF=trace:bad.$bad,rate:$bad ./linked longjmp
  told=$(cat err)
  expect_match err "^smalloc: warning: SMALLOC_CONF: 'rate:$bad' has a value that is not understood: .*; the default is taken"
  [ "$(wc -l <err)" = 1 ] || fail "more than a line: $told"
  expect_status 3 env LD_PRELOAD="$FEEDBACK" SMALLOC_CONF=trace:alone.$bad,rate:$bad ./app longjmp
  [ "$(cat err)" = "$told" ] || fail "other words without libsmalloc: $(cat err)"
  expect_status 0 "$SMALLOC" analyze bad.$bad --no-db --json
  json_is out 'd["traces"][0]["sample_rate"] == 1'
done
expect_error 125 'share' "$SMALLOC" record --rate 2 -- ./app threads

# A shared library that is opened and closed again records its accesses, and is unloaded without
# harm.
cat >part.c <<'C'
unsigned long walk(const unsigned char *a, unsigned long pages) {
  unsigned long sum = 0;
  for (unsigned long i = 0; i < pages; i++)
    sum += a[i * 4096];
  return sum;
}
C
cat >opener.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  unsigned char *a = calloc(3000, 4096);
  unsigned long sum = 0;
  for (int i = 0; i < 3; i++) {
    void *part = dlopen("./part.so", RTLD_NOW);
    unsigned long (*walk)(const unsigned char *, unsigned long);
    if (!part)
      return 1;
    *(void **)&walk = dlsym(part, "walk");
    sum += walk(a, 3000);
    dlclose(part);
  }
  printf("%lu\n", sum);
  return 0;
}
C
quietly "$CLANG" "${generate[@]}" -fPIC -shared part.c -o part.so
"$CLANG" -O2 opener.c -o opener
expect_status 0 "$SMALLOC" record -q --rate 1 -o opener.trace -- ./opener
expect_status 0 "$SMALLOC" trace show opener.trace --json
json_is out 'd["complete"] and 9000 <= d["events"]["access_runs"] <= 9100'

# A program that an earlier version has instrumented: its gate is shorter, it checks for equal ends,
# and for the pages behind them.
cat >earlier.c <<'C'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct told {
  uint64_t *next, *end;
  uint32_t pages[128];
};
static struct gate {
  uint32_t version, bytes;
  uint64_t threshold;
  void (*access)(uint64_t);
  void (*walk)(uint64_t, uint64_t, const void *);
  const char *directory;
  void *next;
  int64_t told;
} gate = {.version = 2, .bytes = sizeof gate, .directory = "."};
__attribute__((weak)) void __smalloc_v1_open_gate(struct gate *);
int main(int argc, char **argv) {
  if (__smalloc_v1_open_gate)
    __smalloc_v1_open_gate(&gate);
  struct told *told = (struct told *)((char *)__builtin_thread_pointer() + gate.told);
  long accesses = argc > 1 ? atol(argv[1]) : 1;
  for (long i = 0; gate.threshold && i < accesses; i++) {
    uint64_t address = UINT64_C(0x7f0000000000) + (uint64_t)i * 1013 % 4001 * 4096;
    uint32_t page = (uint32_t)(address >> 12);
    if (told->pages[page % 128] == page)
      continue;
    if (told->next == told->end) {
      gate.access(address);
    } else {
      told->pages[page % 128] = page;
      *told->next++ = address;
    }
  }
  return 0;
}
C
"$CLANG" -O2 earlier.c -o earlier
for accesses in 100 10100; do
  expect_status 0 "$SMALLOC" record -q --rate 1 -o earlier.trace -- ./earlier $accesses
  expect_status 0 "$SMALLOC" trace show earlier.trace --json
  mv out earlier.$accesses.json
done
json_is earlier.10100.json "d['events']['access_runs'] - json.load(open('earlier.100.json'))['events']['access_runs'] == 10000"
