#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The fast paths stay short, in instructions a malloc/free pair of 48 bytes. Each pair is compared
# with a base:
# - plain jemalloc: the pair of a direct site and of heap:superpage (also by calloc, of 6000 and of
# 20000 bytes, with a resize, and begun by realloc);
# - the program's own malloc: the pair of an undecided site, of one that is switched off, of one of
# varying size (also with calloc, and after two threads used it), and of one that grows lists by
# realloc;
# - the program's own malloc: code without the plugin, with and without the preloaded library, also
# in a process too small for libsmalloc's heap.
# The golden file has the differences. A longer path fails, a shorter one asks for a new golden
# file.
. "$(dirname "$0")/../support/lib.sh"
golden=$SMALLOC_SOURCE/tests/integration/support/fast_paths.golden
. "$SMALLOC_SOURCE/tests/integration/support/counts.bash"
jemalloc=$(ldconfig -p 2>/dev/null | sed -n 's/.*libjemalloc\.so\.2 .*=> //p' | head -n 1)
[ -n "$jemalloc" ] || jemalloc=$(/sbin/ldconfig -p | sed -n 's/.*libjemalloc\.so\.2 .*=> //p' | head -n 1)
[ -n "$jemalloc" ] || skip "libjemalloc2 is missing"
for file in "$jemalloc" "$(sed -n 's/^SMALLOC_JEMALLOC_PIC:[A-Z]*=//p' "$SMALLOC_BUILD/CMakeCache.txt")"; do
  # The golden counts are those of Debian 12's 5.3.0, for 48-bit addresses. Without the fast path each
  # would be 70 more.
  strings -a "$file" | grep '^5\.3\.0-' >/dev/null || counts_tolerance=25
  nm -S "$file" 2>/dev/null | grep ' 00000000000400[0-9a-f]* B je_arena_emap_global$' >/dev/null && counts_tolerance=25
done
# Other C libraries have another malloc: only the comparison with jemalloc holds.
if [ "$(getconf GNU_LIBC_VERSION)" != 'glibc 2.36' ] && [ -z "${SMALLOC_UPDATE_GOLDEN:-}" ]; then
  grep 'over jemalloc:' "$golden" >of_jemalloc.golden
  golden=$tmp/of_jemalloc.golden counts_tolerance=25
fi
cat >pair.c <<'C'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
struct node { struct node *next; long body[5]; };
static struct node *head;
__attribute__((noinline)) static struct node *hot(size_t n) { return malloc(n); }
__attribute__((noinline)) static struct node *of_one_size(void) { return malloc(sizeof(struct node)); }
__attribute__((noinline)) static struct node *zeroed_one(void) { return calloc(1, sizeof(struct node)); }
__attribute__((noinline)) static struct node *cleared(size_t n) { return calloc(1, n); }
void other_unit(void *p), steps_begin(void), steps_end(void);
__attribute__((noinline)) static void *cold(size_t n) {
  void *p = malloc(n);
  if (n == 1)
    other_unit(p);
  return p;
}
__attribute__((noinline)) static struct node *grown(struct node *p, size_t n) { return realloc(p, n); }
static struct node *varied_one(int with_calloc, size_t n, long i) {
  return with_calloc ? cleared(n + i % 8 * 200) : hot(n + i % 8 * 200);
}
/* Called through a pointer: one site for both threads, not one for each call. */
__attribute__((noinline)) static struct node *shared(size_t n) { return malloc(n); }
static struct node *(*volatile take)(size_t n) = shared;
static void *second_thread(void *unused) {
  for (long i = 0; i < 2000; i++)
    free(take(sizeof(struct node) + i % 8 * 200));
  return unused;
}
/* Lists that grow by one element at a time, and are walked. */
struct list { long *items; size_t count, room; };
int main(int argc, char **argv) {
  long pairs = atol(argv[1]), warm = 20000, sum = 0;
  volatile size_t n = sizeof(struct node);
  int threads = argc > 2 && strcmp(argv[2], "threads") == 0;
  int with_calloc = argc > 2 && strcmp(argv[2], "calloc") == 0;
  int varied = threads || with_calloc || (argc > 2 && strcmp(argv[2], "varied") == 0);
  int resized = argc > 2 && strcmp(argv[2], "resized") == 0;
  int zeroed = argc > 2 && strcmp(argv[2], "zeroed") == 0; /* by calloc, all of one size */
  int begun = argc > 2 && strcmp(argv[2], "begun") == 0; /* by realloc */
  int pushes = argc > 2 && strcmp(argv[2], "lists") == 0;
  if (argc > 2 && strcmp(argv[2], "small") == 0) { /* the process stays below 1 MiB of requests */
    for (long i = 0; i < pairs + 1000; i++) {
      if (i == 1000)
        steps_begin();
      free(cold(n));
    }
    steps_end();
    return 0;
  }
  volatile char *ballast = malloc(80 << 20); /* libsmalloc's heap starts in a process of 16 MiB */
  for (long i = 0; i < 80 << 20; i += 4096)
    ballast[i] = 1;
  if (pushes) {
    size_t lists = (size_t)atol(argv[3]);
    struct list *l = calloc(lists, sizeof *l);
    unsigned long x = 1;
    for (long i = 0; i < pairs + warm + 100000; i++) {
      if (i == warm + 100000)
        steps_begin();
      struct list *a = &l[((x = x * 6364136223846793005u + 1) >> 33) % lists];
      if (a->count == a->room) {
        a->room++;
        a->items = (long *)grown((struct node *)a->items, a->room * sizeof(long));
      }
      a->items[a->count++] = i;
    }
    steps_end();
    for (int r = 0; r < 3; r++)
      for (size_t i = 0; i < lists; i++)
        for (size_t k = 0; k < l[i].count; k++)
          sum += l[i].items[k];
    return sum == 0;
  }
  if (argc > 2 && !varied && !resized && !zeroed && !begun) {
    if (argc > 3)
      n = (size_t)atol(argv[3]);
    for (long i = 0; i < pairs + warm; i++) {
      if (i == warm)
        steps_begin();
      free(cold(n));
    }
    steps_end();
    return 0;
  }
  long kept = begun ? 2000 : 200000;
  if (begun)
    n = (size_t)atol(argv[3]);
  /* One call makes kept objects and freed ones: a wrapper's calls are decided separately. */
  for (long i = 0; i < pairs + warm + kept; i++) {
    if (i == warm + kept)
      steps_begin();
    if (threads && i == 100000) {
      pthread_t t;
      pthread_create(&t, 0, second_thread, 0);
      pthread_join(t, 0);
    }
    struct node *p = threads ? take(n + i % 8 * 200) : varied ? varied_one(with_calloc, n, i) : begun ? grown(0, n) : zeroed ? zeroed_one() : of_one_size();
    if (resized)
      p = grown(p, 2 * n);
    p->next = head;
    p->body[0] = i;
    if (i < kept)
      head = p;
    else
      free(p);
  }
  steps_end();
  for (int r = 0; r < 10; r++)
    for (struct node *p = head; p; p = p->next)
      sum += p->body[0];
  return sum == 0;
}
C
lib=$(dirname "$LIB")
echo 'void other_unit(void *p) { *(volatile char *)p = 0; }' >other.c
"$CLANG" -O2 -c other.c
"$CLANG" -O2 pair.c other.o marks.o -o plain -pthread
"$CLANG" -O2 -fplugin="$PLUGIN" pair.c other.o marks.o -pthread -o ours -L"$lib" -Wl,--no-as-needed -lsmalloc -Wl,-rpath,"$lib"
"$CLANG" -O2 pair.c other.o marks.o -pthread -o linked -L"$lib" -Wl,--no-as-needed -lsmalloc -Wl,-rpath,"$lib"
# Instructions of a pair in a process that is too small for libsmalloc's heap. Fewer steps: under
# valgrind each process is large, which libsmalloc sees when 1 MiB was requested.
in_small_process() ( # ENVIRONMENT PROGRAM
  counted_steps=10000
  instructions "$1" "$2" small
)
count_all() {
  jemalloc_pair=$(instructions LD_PRELOAD="$jemalloc" plain)
  own_pair=$(instructions A=1 plain cold)
  own_hot_pair=$(instructions A=1 plain)
  own_varied_pair=$(instructions A=1 plain varied)
  own_calloc_pair=$(instructions A=1 plain calloc)
  own_threads_pair=$(instructions A=1 plain threads)
  own_lists=$(instructions A=1 plain lists 5000)
  jemalloc_zeroed=$(instructions LD_PRELOAD="$jemalloc" plain zeroed)
  jemalloc_resized=$(instructions LD_PRELOAD="$jemalloc" plain resized)
  echo "direct site over jemalloc: $((($(instructions A=1 ours) - jemalloc_pair) / 10))"
  echo "direct site of calloc over jemalloc: $((($(instructions A=1 ours zeroed) - jemalloc_zeroed) / 10))"
  echo "all on superpages, a site of calloc, over jemalloc: $((($(instructions SMALLOC_CONF=heap:superpage ours zeroed) - jemalloc_zeroed) / 10))"
  echo "all on superpages by calloc over jemalloc: $((($(instructions "LD_PRELOAD=$PRELOAD SMALLOC_CONF=heap:superpage" plain zeroed) - jemalloc_zeroed) / 10))"
  echo "all on superpages over jemalloc: $((($(instructions "LD_PRELOAD=$PRELOAD SMALLOC_CONF=heap:superpage" plain) - jemalloc_pair) / 10))"
  for bytes in 6000 20000; do # above jemalloc's table of sizes; one in a slab, one not
    jemalloc_larger=$(instructions LD_PRELOAD="$jemalloc" plain cold $bytes)
    echo "all on superpages, $bytes bytes, over jemalloc: $((($(instructions "LD_PRELOAD=$PRELOAD SMALLOC_CONF=heap:superpage" plain cold $bytes) - jemalloc_larger) / 10))"
  done
  echo "direct site with a resize over jemalloc: $((($(instructions A=1 ours resized) - jemalloc_resized) / 10))"
  echo "all on superpages with a resize over jemalloc: $((($(instructions "LD_PRELOAD=$PRELOAD SMALLOC_CONF=heap:superpage" plain resized) - jemalloc_resized) / 10))"
  for bytes in 48 3000; do
    jemalloc_begun=$(instructions LD_PRELOAD="$jemalloc" plain begun $bytes)
    echo "all on superpages, $bytes bytes by a site's realloc, over jemalloc: $((($(instructions SMALLOC_CONF=heap:superpage ours begun $bytes) - jemalloc_begun) / 10))"
  done
  echo "undecided site over the program's malloc: $((($(instructions A=1 ours cold) - own_pair) / 10))"
  echo "site of varied sizes over the program's malloc: $((($(instructions A=1 ours varied) - own_varied_pair) / 10))"
  echo "site of varied sizes by calloc over the program's malloc: $((($(instructions A=1 ours calloc) - own_calloc_pair) / 10))"
  echo "site of varied sizes of two threads over the program's malloc: $((($(instructions A=1 ours threads) - own_threads_pair) / 10))"
  echo "site that grows lists by realloc over the program's malloc: $((($(instructions A=1 ours lists 5000) - own_lists) / 10))"
  echo "site switched off over the program's malloc: $((($(instructions SMALLOC_CONF=heap:off ours) - own_hot_pair) / 10))"
  echo "code not rewritten over the program's malloc: $((($(instructions A=1 linked cold) - own_pair) / 10))"
  own_small=$(in_small_process A=1 plain)
  echo "preloaded in a small process over the program's malloc: $((($(in_small_process "LD_PRELOAD=$PRELOAD" plain) - own_small) / 10))"
  echo "site in a small process over the program's malloc: $((($(in_small_process A=1 ours) - own_small) / 10))"
  echo "preloaded over the program's malloc: $((($(instructions "LD_PRELOAD=$PRELOAD" plain cold) - own_pair) / 10))"
}
compare_counts count_all "$golden"
