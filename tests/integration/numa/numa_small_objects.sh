# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Small objects of a site with a hint come from heaps of their own, one a node. They behave as other
# objects: they are resized into and out of large ones, freed by other threads, aligned, zeroed, and
# usable after fork. A described system replaces a machine of two nodes; tests/numa-vm tests where
# pages really lie.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
[ -e "$PLUGIN" ] || skip "the plugin is not part of this build"
. "$SMALLOC_SOURCE/tests/integration/fixtures/two_nodes.bash"
cc() { "$SMALLOC_BUILD/bin/smalloc-cc" -O2 -pthread -fplugin-arg-smalloc-rewrite=all "$@"; }

cat >churn.c <<'C'
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
size_t smalloc_trim(void) __attribute__((weak));
enum { kSlots = 4000, kSteps = 60000, kThreads = 3 };
static struct { unsigned char *p; size_t bytes; unsigned char fill; } slot[kSlots];
static pthread_mutex_t lock[kSlots];
static int wrong;
static void check(int i) {
  for (size_t k = 0; k < slot[i].bytes; k += 1 + slot[i].bytes / 16)
    if (slot[i].p[k] != slot[i].fill)
      __atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
}
static void *work(void *seed) {
  unsigned r = (unsigned)(uintptr_t)seed * 2654435761u + 1;
  cpu_set_t set;
  for (int step = 0; step < kSteps; step++) {
    r = r * 1103515245u + 12345u;
    if (step % 5000 == 0) { /* from node to node */
      CPU_ZERO(&set);
      CPU_SET(step / 5000 % (int)sysconf(_SC_NPROCESSORS_ONLN), &set);
      sched_setaffinity(0, sizeof set, &set);
    }
    const int i = (int)(r >> 8) % kSlots;
    size_t bytes = 1 + (r >> 20) % 3000;
    if (r >> 4 & 1 && step % 500 == 0)
      bytes = 3u << 20;
    pthread_mutex_lock(&lock[i]);
    if (slot[i].p)
      check(i);
    if (slot[i].p && r & 0x10000) { /* grows and shrinks */
      const size_t kept = slot[i].bytes < bytes ? slot[i].bytes : bytes;
      slot[i].p = realloc(slot[i].p, bytes);
      slot[i].bytes = kept;
      check(i);
    } else {
      free(slot[i].p);
      if (r & 0x20000) {
        slot[i].p = calloc(1, bytes);
        slot[i].bytes = bytes, slot[i].fill = 0;
        check(i);
      } else if (r & 0x40000) {
        slot[i].p = aligned_alloc(256, (bytes + 255) & ~(size_t)255);
        if ((uintptr_t)slot[i].p % 256)
          wrong = 1;
      } else {
        slot[i].p = malloc(bytes);
      }
    }
    if (malloc_usable_size(slot[i].p) < bytes)
      wrong = 1;
    slot[i].bytes = bytes;
    slot[i].fill = (unsigned char)r;
    memset(slot[i].p, slot[i].fill, bytes);
    pthread_mutex_unlock(&lock[i]);
  }
  return NULL;
}
static void *short_life(void *unused) { /* a thread's caches end with it */
  void *p = malloc(100);
  free(p);
  return unused;
}
int main(void) {
  pthread_t t[kThreads], s;
  for (int i = 0; i < kSlots; i++)
    pthread_mutex_init(&lock[i], NULL);
  for (int i = 0; i < kThreads; i++)
    pthread_create(&t[i], NULL, work, (void *)(uintptr_t)(i + 1));
  for (int i = 0; i < 5000; i++) { /* more than jemalloc has caches */
    pthread_create(&s, NULL, short_life, NULL);
    pthread_join(s, NULL);
    if (i % 1000 == 0) {
      const pid_t child = fork();
      int status;
      if (child == 0) {
        for (int k = 0; k < 2000; k++)
          free(malloc((size_t)k));
        _exit(0);
      }
      if (waitpid(child, &status, 0) != child || status)
        wrong = 1;
    }
  }
  for (int i = 0; i < kThreads; i++)
    pthread_join(t[i], NULL);
  for (int i = 0; i < kSlots; i++) {
    if (slot[i].p)
      check(i);
    free(slot[i].p);
  }
  if (smalloc_trim)
    smalloc_trim();
  puts(wrong ? "wrong" : "right");
  return wrong;
}
C
cc churn.c -o churn
cc "$SMALLOC_SOURCE/tests/numa-vm/small.c" -o small
# hinted PROGRAM PAGE HINT [CONF]: runs it with this hint for each site; writes statistics to
# s.json.
hinted() {
  "$SMALLOC" sites "$1" --json >sites.json
  python3 -c 'import json, sys
print("# smalloc.directives/1")
for s in json.load(open("sites.json"))["sites"]: print(s["id"], f"page={sys.argv[1]} rank=1 pmb=100.0 superpages=8 numa={sys.argv[2]}")' "$2" "$3" >hints.directives
  rm -f s.json
  expect_status 0 env LD_PRELOAD="$LIB" SMALLOC_CONF="heap:guest,directives:hints.directives,sysfs:$tmp/sys,stats:json,stats_file:$tmp/s.json${4-}" "./$1"
}
counter() { python3 -c 'import json, sys; print(json.load(open("s.json"))["counters"][sys.argv[1]])' "$1"; }

for hint in local partition preferred:0 preferred:0,1 interleave weighted; do
  for page in 2m base; do
    hinted churn $page $hint
    expect_match out '^right$'
    [ "$(counter node_bytes_peak)" -ge 4000000 ] || fail "$page $hint: only $(counter node_bytes_peak) bytes in heaps of nodes"
    [ "$(counter node_bytes_now)" -lt $(($(counter node_bytes_peak) / 2)) ] || fail "$page $hint: empty, and $(counter node_bytes_now) bytes are kept"
    [ "$(counter small_bytes_peak)" = 0 ] || fail "$page $hint: $(counter small_bytes_peak) bytes beside them"
  done
done
hinted churn 2m local ,debug:on
expect_match out '^right$'
# All objects of small.c, and nothing else.
hinted small base local
expect_match out ' wrong 0$'
[ "$(counter node_bytes_peak)" -ge 24000000 ] || fail "$(counter node_bytes_peak) bytes"
# Without a hint, with hints switched off, or on one node: no such heaps.
for conf in ,numa:off ,sysfs:/nowhere; do
  hinted churn base local "$conf"
  expect_match out '^right$'
  [ "$(counter node_bytes_peak)" = 0 ] || fail "$conf: heaps of nodes"
done
