#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A site that only forked children use. Children do not report, so their parent's run does not count
# against the site's directive; without a fork it does.
# A child of a process that has claimed superpages keeps the parent's claim, whether heaps existed
# at the fork or not.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
need_thp
. "$SMALLOC_SOURCE/tests/integration/fixtures/claims.bash"
trap 'rm -rf "$tmp" "$shared"' EXIT
build t -w $(linked) <<'E'
#include "runtime_sites.h"
#include <sys/stat.h>
#include <sys/wait.h>
#line 1 "t.c"
TEST_SITE(parents, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
TEST_SITE(childs, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
static void use(struct smalloc_cell *site) {
  for (int i = 0; i < 3; i++) {
    char *p = site_malloc(site, 64 * MIB);
    memset(p, 1, 64 * MIB);
    CHECK(ours(p));
    free(p);
    usleep(20000); /* time for the agent to select lines again */
  }
}
static long claims(void) {
  char path[64];
  struct stat info;
  sprintf(path, "/dev/shm/smalloc.%u", (unsigned)getuid());
  return stat(path, &info) == 0 ? (long)info.st_size : -1;
}
int main(int argc, char **argv) {
  int forks = strstr(argv[1], "fork") != NULL, early = strstr(argv[1], "early") != NULL;
  char *held = NULL; /* keeps its end from starting a phase in which nothing is claimed */
  if (!early) {
    use(&parents);
    held = memset(site_malloc(&parents, 64 * MIB), 1, 64 * MIB);
    usleep(20000);
    touching(held, 1);
  }
  const long before = claims();
  CHECK(before > 0);
  if (forks) {
    if (fork() == 0) { use(&childs); exit(0); }
    int status;
    CHECK(wait(&status) > 0 && status == 0);
    CHECK(claims() == before);
  }
  if (early) use(&parents);
  free(held);
  return 0;
}
E
id=$(readelf -n t | sed -n 's/.*Build ID: //p')
[ -n "$id" ] || skip "the linker writes no build-id"
cat >d.directives <<D
# smalloc.directives/1 program=$id input=$(input_of it) seconds=1.0 saved_ms=10
0000000000001001 page=2m rank=1 pmb=100.0 superpages=32 numa=- # parents
0000000000001002 page=2m rank=2 pmb=50.0 superpages=32 numa=- # childs
D
verdicts() { # HOW
  rm -rf "$XDG_STATE_HOME"
  expect_status 0 env SMALLOC_CONF=populate:always,directives:d.directives,input:it ./t "$1"
  [ ! -s err ] || fail "$1: $(cat err)"
  cat "$XDG_STATE_HOME"/smalloc/runs/*.jsonl | grep -v '^$' >run.json
  python3 -c 'import json; print(" ".join(sorted(d["site"][-1] + ":" + d["verdict"] for d in json.load(open("run.json"))["directives"])))'
}
[ "$(verdicts alone)" = '1:held 2:failed' ] || fail "without a fork: $(cat run.json)"
for how in fork fork-early; do
  [ "$(verdicts $how)" = '1:held' ] || fail "$how: $(cat run.json)"
done
