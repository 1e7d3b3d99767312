#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program that limits its own address space while it runs (RLIMIT_AS) gets as much as without
# libsmalloc: the reservation counts, and libsmalloc gives it back. Other code may then map memory
# in its place; that memory is freed, resized and measured as usual. Objects that libsmalloc has
# returned stay.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
# shellcheck disable=SC2046 # several words
build t -w $(linked) <<'E'
#include "runtime_sites.h"
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#line 1 "t.c"
TEST_SITE(table, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
TEST_SITE(small, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
static void *nothing(void *p) { return p; }
static int set(const char *how, rlim_t limit) {
  struct rlimit value = {limit, RLIM_INFINITY};
  if (how[0] == 'p')
    return prlimit(0, RLIMIT_AS, &value, NULL);
  return how[0] == 'P' ? prlimit64(getpid(), RLIMIT_AS, (void *)&value, NULL)
       : how[0] == 's' ? setrlimit(RLIMIT_AS, &value) : setrlimit64(RLIMIT_AS, (void *)&value);
}
int main(int argc, char **argv) {
  enum { kKept = 64 };
  static char *kept[kKept], *foreign[512];
  warm_up(&small);
  char *a = site_malloc(&table, 61 * MIB);
  memset(a, 1, 61 * MIB);
  for (int i = 0; i < kKept; i++)
    memset(kept[i] = site_malloc(&small, 1000 + i), i, 1000 + i);
  CHECK(set(argv[1], strtoull(argv[2], 0, 0) << 20) == 0);
  /* Mapped by the program and by its malloc, beside and into the range that was given back. */
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0);
  FILE *pipe = popen("echo child", "r");
  char line[16] = "";
  CHECK(pipe && fgets(line, sizeof line, pipe) && pclose(pipe) == 0);
  char *mapped = mmap(NULL, 64 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(mapped != MAP_FAILED && !smalloc_is_ours(mapped));
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  int n = 0;
  for (; n < 512 && (foreign[n] = malloc(8 * MIB)); n++) {
    memset(foreign[n], n, 4096);
    CHECK(malloc_usable_size(foreign[n]) >= 8 * MIB);
  }
  for (int i = 0; i < n; i++)
    if (i % 2) {
      char *smaller = realloc(foreign[i], 2 * MIB);
      CHECK(smaller && smaller[4095] == (char)i);
      free(smaller);
    } else
      free(foreign[i]);
  for (int i = 0; i < kKept; i++) {
    CHECK(kept[i][0] == (char)i && kept[i][999 + i] == (char)i);
    CHECK((kept[i] = realloc(kept[i], 3000)) && kept[i][999] == (char)i);
    free(kept[i]);
  }
  CHECK(a[61 * MIB - 1] == 1);
  free(a);
  /* libsmalloc's heaps continue with the memory that they keep. */
  char *b = site_malloc(&table, 16 * MIB);
  CHECK(b);
  memset(b, 1, 16 * MIB);
  free(b);
  printf("%d\n", n);
  return 0;
}
E
for how in s S p P; do
  for limit in 4096 1024 400; do
    SMALLOC_CONF=heap:off ./t $how $limit >plain || fail "fails without us"
    ./t $how $limit >with 2>err || { cat with err; fail "$how $limit: status $?"; }
    [ ! -s err ] || fail "$how $limit: $(cat err)"
    # The heaps keep an eighth of the address space, and their tables.
    [ $((8 * ($(cat plain) - $(cat with)))) -le $((limit / 8 + 32)) ] || fail "$how $limit: $(cat with) pieces instead of $(cat plain)"
  done
done
# A limit that another process lowers, or that is not lowered, changes nothing. An invalid limit
# fails as without libsmalloc.
cat >later.py <<'P'
import resource
x = bytearray(30 << 20)
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
print("ok", len([bytearray(1 << 20) for _ in range(200)]))
try:
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 4 << 30))
except ValueError as e:
    print(e)
P
/usr/bin/python3 later.py >plain
for conf in heap:auto heap:guest heap:superpage heap:migrate; do
  SMALLOC_CONF=$conf LD_PRELOAD=$PRELOAD /usr/bin/python3 later.py >with 2>err || { cat err; fail "python with $conf: status $?"; }
  cmp plain with || fail "$conf: $(cat with)"
done
