#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program forks while its threads allocate. Each child's trace, under its own name, holds the
# events of the child, and none of its parent's threads that were not written yet. The parent's
# trace holds the parent's events.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
FEEDBACK=$SMALLOC_BUILD/lib/libsmalloc_feedback.so
[ -r "$FEEDBACK" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
cat >app.c <<'C'
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
enum { kThreads = 3, kForks = 8, kOfChild = 500 };
static atomic_long done, begun;
static void *work(void *p) {
  begun++;
  while (!done)
    for (int i = 0; i < 100; i++)
      free(malloc(77));
  return p;
}
static int open_traces(void) { /* counts traces among the descriptors */
  DIR *all = opendir("/proc/self/fd");
  int n = 0;
  for (struct dirent *e; (e = readdir(all));) {
    char path[300], to[4096];
    snprintf(path, sizeof path, "/proc/self/fd/%s", e->d_name);
    const ssize_t length = readlink(path, to, sizeof to - 1);
    to[length > 0 ? length : 0] = 0;
    n += strstr(to, ".trace") != NULL;
  }
  closedir(all);
  return n;
}
__attribute__((noinline)) static void *hold(size_t n) { /* one site, which the parent uses, too */
  void *volatile p = malloc(n);
  return p;
}
static int child(int number) {
  void *volatile kept = NULL;
  for (int i = 0; i < kOfChild; i++)
    kept = hold(100000 + 1000 * (size_t)number);
  return kept && open_traces() == 1 ? 40 + number : 1;
}
static void *fork_some(void *first) { /* half of them from a thread other than the first */
  for (int i = (int)(long)first; i < kForks; i += 2) {
    const pid_t pid = fork();
    if (pid == 0) {
      const int status = child(i);
      if (i & 2)
        _exit(status);
      exit(status);
    }
    int status = 0;
    if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 40 + i)
      printf("child %d: status %x\n", i, status), exit(1);
  }
  return first;
}
int main(void) {
  pthread_t thread[kThreads], forks;
  for (int i = 0; i < kThreads; i++)
    pthread_create(&thread[i], NULL, work, NULL);
  free(hold(10));
  while (begun < kThreads)
    usleep(1000);
  pthread_create(&forks, NULL, fork_some, (void *)1);
  fork_some((void *)0);
  pthread_join(forks, NULL);
  done = 1;
  for (int i = 0; i < kThreads; i++)
    pthread_join(thread[i], NULL);
  puts("all");
  return 5;
}
C
"$CC" -O1 -fno-builtin app.c -o app -pthread
expect_status 5 "$SMALLOC" record -q --source instrumented -o t.trace -- ./app
expect_match out '^all$'
[ ! -s err ] || fail "$(cat err)"
set -- t.trace.*
[ $# = 8 ] || fail "$# traces of 8 children"
expect_status 0 "$SMALLOC" trace show t.trace --json
json_is out 'd["complete"] and d["events"]["lost"] == 0 and d["skipped_bytes"] == 0 and d["totals"]["threads"] in (4, 5)'
json_is out 'd["totals"]["peak_live_bytes"] < 100000 and d["events"]["allocations"] > 1000' # none of the children's
seen=()
for trace; do
  expect_status 0 "$SMALLOC" trace show "$trace" --json
  json_is out 'd["complete"] and d["events"]["lost"] == 0 and d["skipped_bytes"] == 0 and d["totals"]["threads"] == 1'
  json_is out '500 <= d["events"]["allocations"] <= 510 and d["events"]["reallocations"] <= 5'
  seen+=("$(python3 -c 'import json; print((json.load(open("out"))["totals"]["live_bytes_at_end"] - 50000000) // 500000)')")
  # The child's own trace names where it allocates.
  expect_status 0 "$SMALLOC" analyze -q --no-db --json "$trace"
  json_is out 'd["mappings"][0]["category"]["file"].endswith("/app") and d["mappings"][0]["footprint_bytes"] >= 50000000'
done
[ "$(printf '%s\n' "${seen[@]}" | sort -n | tr '\n' ' ')" = "0 1 2 3 4 5 6 7 " ] || fail "children: ${seen[*]}"
