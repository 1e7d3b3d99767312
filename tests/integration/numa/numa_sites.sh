# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A simulated trace of a program that was compiled with profile-generate reports, for each site,
# which nodes' accesses are remote. Migration makes the accesses local if each thread has its own
# part, but not if two nodes share the data.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
[ -e "$PLUGIN" ] || skip "the plugin is not part of this build"
cat >app.c <<'C'
#include <pthread.h>
#include <stdlib.h>
enum { kWords = 1 << 17, kThreads = 4, kRounds = 60 };
static volatile long *divided, *shared;
__attribute__((noinline)) static volatile long *make_divided(void) { return malloc(kWords * sizeof(long)); }
__attribute__((noinline)) static volatile long *make_shared(void) { return malloc(kWords * sizeof(long)); }
static pthread_barrier_t together;
static void *work(void *number) {
  const long n = (long)number, share = kWords / kThreads;
  for (int round = 0; round < kRounds; round++) {
    for (long i = n * share; i < (n + 1) * share; i++)
      divided[i]++;
    for (long i = 0; i < kWords; i++)
      shared[i] += n;
    pthread_barrier_wait(&together);
  }
  return NULL;
}
int main(void) {
  pthread_t t[kThreads];
  divided = make_divided();
  shared = make_shared();
  for (long i = 0; i < kWords; i++)
    divided[i] = shared[i] = 0;
  pthread_barrier_init(&together, NULL, kThreads);
  for (long n = 0; n < kThreads; n++)
    pthread_create(&t[n], NULL, work, (void *)n);
  for (long n = 0; n < kThreads; n++)
    pthread_join(t[n], NULL);
  free((void *)divided);
  free((void *)shared);
  return 0;
}
C
"$SMALLOC_BUILD/bin/smalloc-cc" -O1 -pthread -fplugin-arg-smalloc-profile-generate app.c -o app
expect_status 0 "$SMALLOC" record --rate 1 -o app.trace -- ./app
expect_status 0 "$SMALLOC" numa simulate app.trace --machine server-4 --shrink 64 --sample 1 --move-ns 100 --intervals 12 --json
cat >check.py <<'PY'
import json, sys
d = json.load(open("out"))
assert d["threads"] == 5, d["threads"]
sites = {n: next(s for s in d["sites"] if n in s["name"]) for n in ("make_divided", "make_shared")}
for s in sites.values():
    assert sum(s["transactions_by_node"]) == s["transactions"] > 1000 and len(s["id"]) == 16, s
    assert s["remote_percent_first_touch"] > 40, s  # one thread initialised all of it
assert sites["make_divided"]["remote_percent"] < sites["make_divided"]["remote_percent_first_touch"] / 2, sites
# Half of it, if the threads of both nodes run at the same time; less if they alternate and the
# pages follow.
assert sites["make_shared"]["remote_percent"] > max(20, sites["make_divided"]["remote_percent"]), sites
# Each transaction belongs to a site, and the sites are as remote as the whole.
assert sum(s["transactions"] for s in d["sites"]) == d["transactions"], d["transactions"]
for key, name in (("remote_percent_first_touch", "first-touch"), ("remote_percent", sys.argv[1])):
    whole = next(s for s in d["schemes"] if s["name"] == name)["remote_percent"]
    mean = sum(s[key] * s["transactions"] for s in d["sites"]) / d["transactions"]
    assert abs(mean - whole) < 0.2, (key, mean, whole)
PY
python3 check.py cache-misses || fail "the sites do not hold"
expect_status 0 "$SMALLOC" numa simulate app.trace --machine server-4 --shrink 64 --sample 1 --move-ns 100 --intervals 12
expect_match out '^SITE +TRANSACTIONS +NON-LOCAL'
expect_match out '^make_divided .*app.c:[0-9]+ '
expect_status 0 "$SMALLOC" numa report app.trace --machine server-4 --shrink 64 --sample 1 --move-ns 100 --intervals 12 --source perfect -o r.html
sed -n 's/.*const D = \(.*\);$/\1/p;/^const D = /s/^const D = \(.*\);$/\1/p' r.html | head -1 >data.json
python3 -c 'import json; json.dump(json.load(open("data.json"))["result"], open("out", "w"))'
python3 check.py perfect || fail "the page's sites do not hold"
