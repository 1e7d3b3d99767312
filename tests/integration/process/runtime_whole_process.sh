#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# heap:auto under programs without the plugin. A small process starts no heap, unless it has
# requested 16 MiB in small objects. Sparse objects cost no memory, whether allocated, grown by
# realloc, or from a wrapper whose earlier objects were filled. A process ends while the helper
# thread still has work, and its files keep their numbers.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
need_thp
build small -fno-builtin <<'C'
#include "runtime_sites.h"
int main(int argc, char **argv) {
  (void)argc;
  long requests = atol(argv[1]); /* little live memory */
  size_t bytes = atol(argv[2]);
  for (long i = 0; i < requests; i++) free(malloc(bytes + i % 300));
  printf("ours %d threads %zu\n", smalloc_is_ours(malloc(100)), status_kb("Threads:"));
  return 0;
}
C
LD_PRELOAD=$LIB expect_status 0 ./small 40000 100 # 10 MiB
expect_match out '^ours 0 threads 1$'
LD_PRELOAD=$LIB expect_status 0 ./small 4000 100000 # 380 MiB, in few calls
expect_match out '^ours 0 threads 1$'
LD_PRELOAD=$LIB expect_status 0 ./small 100000 100 # 24 MiB
expect_match out '^ours 1 threads 1$'
# Peaks within the window: 2 % of resident memory, or two superpages, and the heaps' own memory.
build sparse -fno-builtin <<'C'
#include "runtime_sites.h"
static char *xmalloc(size_t n) { char *p = (char *)malloc(n); CHECK(p); return p; }
static void touch(char *p, size_t n) { for (size_t i = 0; i < n; i += UNIT) { p[i] = 1; if (i % (64 * UNIT) == 0) usleep(1000); } }
int main(int argc, char **argv) {
  (void)argc;
  char *p;
  if (!strcmp(argv[1], "malloc")) p = xmalloc(512 * MIB);
  else if (!strcmp(argv[1], "grown")) p = (char *)realloc(memset(xmalloc(3 * MIB), 1, 3 * MIB), 512 * MIB);
  else if (!strcmp(argv[1], "wrapper")) {
    for (int i = 0; i < 4; i++) { memset(p = xmalloc(8 * MIB), 1, 8 * MIB); usleep(60000); free(p); }
    p = xmalloc(512 * MIB);
  } else { /* a dense header of 64 MiB */
    p = xmalloc(512 * MIB);
    for (size_t i = 0; i < 64 * MIB; i += 4096) p[i] = 1;
  }
  touch(p, 512 * MIB);
  usleep(100000);
  touch(p, 512 * MIB);
  printf("%zu\n", status_kb("VmHWM:"));
  return 0;
}
C
for kind in malloc grown wrapper header; do
  plain=$(./sparse $kind) with=$(LD_PRELOAD=$LIB ./sparse $kind)
  echo "sparse, $kind: $plain KiB, with libsmalloc $with KiB"
  [ "$with" -le $((plain + plain / 50 + 3 * 4096)) ] || fail "$kind: $with KiB instead of $plain"
done
# The program's last thread is the last thread of the process.
build last -fno-builtin <<'C'
#include "runtime_sites.h"
static void *work(void *p) { usleep(200000); return p; }
int main(void) {
  for (int i = 0; i < 4; i++) *(volatile char *)malloc(32 * MIB) = 1;
  pthread_t t;
  pthread_create(&t, NULL, work, NULL);
  pthread_exit(NULL);
}
C
LD_PRELOAD=$LIB expect_status 0 timeout 20 ./last
# Files of the helper thread take no descriptor number from the program.
build numbers -fno-builtin <<'C'
#include "runtime_sites.h"
#include <fcntl.h>
int main(void) {
  for (int i = 0; i < 8; i++) *(volatile char *)malloc(16 * MIB) = 1;
  int first = open("/dev/null", O_RDONLY), wrong = 0;
  for (time_t end = time(NULL) + 2; time(NULL) < end;) { close(first); wrong += open("/dev/null", O_RDONLY) != first; }
  return wrong != 0;
}
C
LD_PRELOAD=$LIB expect_status 0 ./numbers
