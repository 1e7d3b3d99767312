# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# smalloc record records every allocation of every thread and process, with its site, and changes
# nothing for the program.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
cat >app.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void *work(void *unused) {
  for (int i = 0; i < 1000; i++) {
    char *p = malloc(100 + (size_t)i), *q = calloc(10, 10), *r;
    memset(p, 1, 100);
    p = realloc(p, 5000);
    if (posix_memalign((void **)&r, 64, 640))
      abort();
    free(p);
    free(q);
    free(r);
  }
  return unused;
}
int main(int argc, char **argv) {
  pthread_t thread[3];
  (void)argv;
  for (int i = 0; i < 3; i++)
    pthread_create(&thread[i], NULL, work, NULL);
  for (int i = 0; i < 3; i++)
    pthread_join(thread[i], NULL);
  if (argc > 1 && fork() == 0) {
    work(NULL);
    _exit(7);
  }
  int status = 0;
  wait(&status);
  char *kept = malloc(12345678);
  memset(kept, 1, 4096);
  printf("%d %d\n", WEXITSTATUS(status), kept[7]);
  return 5;
}
C
"$CC" -O0 app.c -o app -pthread
expect_status 5 ./app fork
mv out want
expect_status 5 "$SMALLOC" record --source instrumented -o t.trace -- ./app fork
cmp want out || fail "the program prints something else"
expect_match err '^smalloc: note: 2 traces; next: smalloc analyze t.trace t.trace.[0-9]+$'
expect_status 0 "$SMALLOC" trace show t.trace --json
cp out main.json
# 3 threads x (malloc + calloc + posix_memalign) x 1000, 1 kept, and libc's own (stdout, threads).
json_is main.json '9001 <= d["events"]["allocations"] <= 9011 and d["events"]["reallocations"] == 3000'
json_is main.json '9000 <= d["events"]["frees"] <= 9010 and d["complete"] and d["totals"]["threads"] == 4'
json_is main.json '12345678 <= d["totals"]["live_bytes_at_end"] < 12400000'
json_is main.json 'd["events"]["page_faults"] > 10 and d["events"]["lost"] == 0 and d["skipped_bytes"] == 0'
json_is main.json 'd["program"].endswith("/app")'
expect_status 0 "$SMALLOC" trace show t.trace.* --json
json_is out '3000 <= d["events"]["allocations"] <= 3005 and d["events"]["reallocations"] == 1000 and d["complete"]'

# The same program has the same sites at any load address.
sites() { zstdcat "$1" | LC_ALL=C grep -aoE "$tmp/app" | wc -l; }
if command -v zstdcat >/dev/null; then [ "$(sites t.trace)" -ge 4 ] || fail "$(sites t.trace) sites of the program"; fi

# Status and signals stay the program's; errors are those of env(1).
expect_status 0 "$SMALLOC" record -q -- true
expect_status 143 sh -c "$SMALLOC record -q -- sh -c 'kill -TERM \$\$'; exit \$?"
PATH=/usr/bin:/bin expect_error 127 'nosuch' "$SMALLOC" record -- nosuch
expect_error 126 '/etc' "$SMALLOC" record -- /etc
expect_error 125 'no command' "$SMALLOC" record
expect_error 125 'unknown option --bogus|--bogus' "$SMALLOC" record --bogus -- true
echo 'int main(void) { return 9; }' >nine.c
if "$CC" -static nine.c -o static 2>/dev/null; then
  expect_error 125 'cannot record the command \(./static\): it is a static executable' "$SMALLOC" record -- ./static
fi
expect_error 1 'cannot read the trace \(app\): it has no smalloc.trace/1 header' "$SMALLOC" trace show app
expect_error 1 'it holds no data accesses' "$SMALLOC" trace compare t.trace t.trace
