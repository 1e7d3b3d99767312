# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Each core has its own TLB. Two threads read 1,200 pages each, repeatedly. With a processor for
# each thread the pages miss once. With one shared TLB of 2,048 entries they miss every time.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
cat >two.c <<'C'
#include <pthread.h>
#include <stdlib.h>
#define PAGES 1200
#define ROUNDS 50
static pthread_barrier_t barrier;
static void *go_round(void *which) {
  long *a = which;
  for (int round = 0; round < ROUNDS; round++) {
    pthread_barrier_wait(&barrier); // both threads run as long as either does
    for (long i = 0; i < PAGES; i++)
      a[i * 512]++;
  }
  return NULL;
}
int main(void) {
  pthread_t other;
  long *a = malloc(2 * PAGES * 4096L);
  if (!a || pthread_barrier_init(&barrier, NULL, 2) != 0 || pthread_create(&other, NULL, go_round, a + PAGES * 512L) != 0)
    return 2;
  go_round(a);
  pthread_join(other, NULL);
  free(a);
  return 0;
}
C
"$CLANG" -O2 -g1 -pthread -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate two.c -o two "${LINK_LIBRARY[@]}"
analysed() { # WRAPPER...
  expect_status 0 "$@" "$SMALLOC" record -q --source instrumented --rate 1 -o t.trace -- ./two
  expect_status 0 "$SMALLOC" analyze t.trace --machine zen3 --no-db --json -q
}
# The thread that reaches the barrier last continues at once and hits; so every second round misses.
analysed taskset -c "$(taskset -pc $$ | sed 's/.*: //;s/[-,].*//')"
json_is out 'd["traces"][0]["tlbs"] == 1 and d["mappings"][0]["tlb_misses_base"] > 40000'
json_is out '2400 <= d["mappings"][0]["page_faults_base"] < 5000'
[ "$(nproc)" -gt 1 ] || skip "a single processor"
analysed env
json_is out 'd["traces"][0]["tlbs"] == 2 and 2400 <= d["mappings"][0]["tlb_misses_base"] < 10000'
json_is out '2400 <= d["mappings"][0]["page_faults_base"] < 5000'
expect_status 0 "$SMALLOC" analyze t.trace --machine zen3 --no-db --seconds 0.001 -q
expect_match out '^significance: yes \(translation [0-9.]+ % of the time, .*; first touches [0-9.]+ %, '
