#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# After mlockall() the heaps work, and reserved memory is not locked: VmLck is at most the memory
# that the process can access, and 1 %. This holds if the heaps start before or later, and after
# munlockall(). If the limit of locked memory is too low, the warning says so.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
build t <<'E'
#include "runtime_sites.h"
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#ifndef MCL_ONFAULT
#define MCL_ONFAULT 4
#endif
TEST_SITE(site, SMALLOC_DECISION_RUNTIME, 0, 512);
TEST_SITE(small, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
static size_t accessible_kb(void) {
  FILE *f = fopen("/proc/self/maps", "r");
  char line[512], rights[8];
  unsigned long from, to, sum = 0;
  while (fgets(line, sizeof line, f))
    if (sscanf(line, "%lx-%lx %7s", &from, &to, rights) == 3 && rights[0] != '-') sum += to - from;
  fclose(f);
  return sum / 1024;
}
static void look(void) {
  size_t locked = status_kb("VmLck:"), accessible = accessible_kb();
  if (locked > accessible + accessible / 100) {
    fprintf(stderr, "%zu kB are locked, of %zu kB that can be accessed\n", locked, accessible);
    exit(1);
  }
}
static void use(void) {
  for (int i = 0; i < 20; i++) {
    char *p = (char *)site_calloc(&site, 1, 8 * MIB), *q = (char *)site_calloc(&small, 1, 3000);
    for (size_t k = 0; k < 8 * MIB; k++) CHECK(p[k] == 0);
    for (int k = 0; k < 3000; k++) CHECK(q[k] == 0);
    memset(p, 1, 8 * MIB), memset(q, 1, 3000);
    look();
    free(p), free(q);
    look();
  }
}
int main(int argc, char **argv) {
  const int flags = atoi(argv[1]), before = argc > 2;
  struct rlimit locked;
  getrlimit(RLIMIT_MEMLOCK, &locked);
  if (geteuid() != 0 && locked.rlim_cur < (256 << 20)) return 77; /* every malloc would fail */
  if (before) warm_up(&small), use();
  if (mlockall(flags) != 0) return 77;
  look();
  if (!before) warm_up(&small);
  use();
  if (flags & MCL_FUTURE) {
    char *p = (char *)site_calloc(&site, 1, 8 * MIB);
    CHECK(ours(p));
    size_t resident = 0;
    unsigned char there[8 * MIB / 4096];
    CHECK(mincore((void *)((uintptr_t)p & -4096L), sizeof there * 4096, there) == 0);
    for (size_t i = 0; i < sizeof there; i++) resident += there[i] & 1;
    /* MCL_FUTURE: no page fault later; MCL_ONFAULT: only memory in use */
    CHECK(flags & MCL_ONFAULT ? status_kb("VmLck:") > 7 * 1024 : resident == sizeof there);
    free(p);
    /* malloc's heap moves its break by no more than it needs: all of it is resident at once */
    const size_t had = status_kb("VmRSS:");
    void *row[160];
    for (int i = 0; i < 160; i++) row[i] = malloc(100000 + (size_t)i);
    CHECK(status_kb("VmRSS:") < had + 16 * 1024 + 4 * 1024);
    for (int i = 0; i < 160; i++) free(row[i]);
  }
  if (!before) CHECK(status_kb("VmRSS:") < 100 * 1024);
  CHECK(munlockall() == 0);
  use();
  CHECK(status_kb("VmLck:") == 0);
  return puts("done") < 0;
}
E
for how in 2 3 1 6 "2 before" "3 before" "1 before" "7 before"; do
  for conf in heap:auto heap:superpage heap:guest; do
    status=0
    # shellcheck disable=SC2086 # two arguments
    SMALLOC_CONF=populate:always,$conf ours ./t $how >out 2>err || status=$?
    [ $status = 77 ] && skip "mlockall is not permitted, or for less than 256 MiB (ulimit -l)"
    [ $status = 0 ] || { cat err; fail "$conf, $how: status $status"; }
    expect_match out '^done$'
  done
done

build few <<'E'
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
int main(void) {
  if (mlockall(MCL_FUTURE) != 0) return 77;
  void *volatile p = malloc(5 << 20);
  free(p);
  return 0;
}
E
if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
  echo "not run as root, with setpriv: the warning was not looked at"
  exit 0
fi
chmod 755 "$tmp"
cp "$LIB" ours.so # where every user can read it
(
  ulimit -l 4096
  SMALLOC_CONF=heap:superpage expect_status 0 setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all env LD_PRELOAD="$tmp/ours.so" ./few
  expect_match err '^smalloc: warning: .*locked memory \(ulimit -l\)'
)
