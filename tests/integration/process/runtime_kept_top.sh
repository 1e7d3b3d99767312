#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception The free top of malloc's heap is kept
# while the program frees rows and requests as many again. It is given back a second after the last
# request, without any call, and once the program uses less. A child of fork gives it back, having
# no helper thread. Other memory does not raise the peak of the process beside it. cache:0 keeps
# nothing.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/peaks.bash"
need_thp
cat >t.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
enum { kRowBytes = 40000, kRows = 3000 }; /* 114 MiB */
static char *row[kRows];
static long kib(const char *name) {
  char line[256];
  long n = -1;
  FILE *f = fopen("/proc/self/status", "r");
  while (f && fgets(line, sizeof line, f))
    if (!strncmp(line, name, strlen(name))) n = atol(line + strlen(name));
  if (f) fclose(f);
  return n;
}
static long faults(void) { struct rusage u; getrusage(RUSAGE_SELF, &u); return u.ru_minflt; }
static void fill(int rows, int value) {
  for (int i = 0; i < rows; i++) {
    if (!(row[i] = malloc(kRowBytes))) abort();
    memset(row[i], value, kRowBytes);
  }
}
static void drop(int rows) { for (int i = 0; i < rows; i++) free(row[i]); }
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
int main(int argc, char **argv) {
  fill(kRows, 1), drop(kRows);
  long before = faults();
  for (int k = 2; k < 6; k++) fill(kRows, k), drop(kRows);
  printf("faults %ld\n", faults() - before);
  const char *how = argc > 1 ? argv[1] : "";
  if (!strcmp(how, "idle")) {
    sleep(3);
  } else if (!strcmp(how, "less")) { /* a tenth of the rows, again and again */
    for (double end = now() + 3; now() < end; usleep(1000)) fill(kRows / 10, 3), drop(kRows / 10);
  } else if (!strcmp(how, "fork")) { /* the child frees, and has no helper thread */
    fill(kRows, 9);
    fflush(stdout);
    if (fork() > 0) { wait(NULL); return 0; }
    drop(kRows);
  } else if (!strcmp(how, "big")) { /* one array, and as much in small objects */
    char *big = malloc(60l << 20);
    memset(big, 1, 60l << 20);
    for (long i = 0; i < (40l << 20) / 200; i++) {
      char *p = malloc(200);
      memset(p, (int)i, 200);
      if (!p) return 1;
    }
    printf("%d\n", big[12345]);
  }
  printf("resident %ld peak %ld\n", kib("VmRSS:") / 1024, kib("VmHWM:") / 1024);
  return 0;
}
C
gcc -O2 -w t.c -o t
field() { sed -n "s/.*$1 \([0-9]*\).*/\1/p" out; }
run() { # CONF HOW
  SMALLOC_CONF=populate:always,$1 LD_PRELOAD=$LIB expect_status 0 timeout 60 ./t "$2"
  echo "$1 $2: $(tr '\n' ' ' <out)"
}
run cache:64m none
[ "$(field faults)" -lt 60 ] || fail "$(field faults) faults for rows used again"
peak=$(field peak)
run cache:0,promote:thread none # the helper thread runs, too
[ "$(field faults)" -gt 150 ] || fail "$(field faults) faults with cache:0: the test shows nothing"
for how in idle less fork; do
  run cache:64m $how
  [ "$(field resident)" -lt 60 ] || fail "$how: $(field resident) MiB resident"
done
run cache:64m big
[ "$(field peak)" -lt $((peak + 12)) ] || fail "peak $(field peak) MiB instead of $peak"
