#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A library that was compiled with the plugin may use libsmalloc's heaps while it is loaded. dlclose
# removes its record; its objects stay valid.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
cat >lib.c <<'E'
#include "runtime_sites.h"
TEST_SITE(inlib, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
void *make(size_t n) { return site_malloc(&inlib, n); }
E
$CC -shared -fPIC -O1 -D_GNU_SOURCE -I"$SMALLOC_SOURCE/smalloc/include" -I"$HERE" lib.c -o libplug.so
build t $(linked) <<'E'
#include <dlfcn.h>
#include "runtime_sites.h"
int main(void) {
  for (int i = 0; i < 50; i++) {
    void *h = dlopen("./libplug.so", RTLD_NOW);
    CHECK(h);
    char *p = ((char *(*)(size_t))dlsym(h, "make"))(8 * MIB);
    CHECK(ours(p));
    CHECK(dlclose(h) == 0);
    memset(p, i, 8 * MIB);
    smalloc_stats_print(open("/dev/null", O_WRONLY));
    free(p);
  }
  return puts("done") < 0;
}
E
expect_status 0 ./t
expect_match out '^done$'
# A library that is loaded repeatedly counts as one site, and the last object is still charged to
# that site.
build again $(linked) <<'E'
#include <dlfcn.h>
#include "runtime_sites.h"
int main(void) {
  char *p = NULL;
  for (int i = 0; i < 1500; i++) {
    void *h = dlopen(i % 2 ? "./libplug.so" : "./other.so", RTLD_NOW);
    CHECK(h);
    free(p);
    p = ((char *(*)(size_t))dlsym(h, "make"))(8 * MIB);
    CHECK(dlclose(h) == 0);
  }
  smalloc_stats_print_json(open("s.json", O_WRONLY | O_CREAT, 0600));
  free(p);
  return 0;
}
E
cp libplug.so other.so
expect_status 0 ./again
python3 - <<'E' || fail "$(cat s.json)"
import json
sites = [s for s in json.load(open("s.json"))["sites"] if s["file"] == "test.c"]
assert len(sites) == 1 and sites[0]["requested_bytes"] == 1500 << 23 and 1 << 23 <= sites[0]["live_bytes"] < (1 << 23) + 4096, sites
E
