# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Blocks of no whole number of superpages are freed and allocated again. They fault no more than
# with the program's malloc, which keeps them: libsmalloc keeps the tail behind the last superpage
# with the rest. The program counts its page faults itself.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
cat >pool.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
static long faults(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}
int main(int n, char **arguments) {
  const size_t bytes = (size_t)atoi(arguments[n - 1]) << 10;
  char *block[16];
  unsigned x = 7;
  for (int i = 0; i < 16; i++)
    block[i] = memset(malloc(bytes), 1, bytes);
  for (int i = 0; i < 20; i++) { // the kept amount grows with each regretted release
    free(block[i % 16]);
    block[i % 16] = memset(malloc(bytes), 2, bytes);
  }
  const long before = faults();
  for (int i = 0; i < 300; i++) {
    x = x * 1664525u + 1013904223u;
    char **one = &block[x >> 28];
    free(*one);
    *one = memset(malloc(bytes), i, bytes);
  }
  printf("%ld\n", faults() - before);
  for (int i = 0; i < 16; i++)
    free(block[i]);
  return 0;
}
C
"$CLANG" -O1 -fplugin="$PLUGIN" -fplugin-arg-smalloc-rewrite=all pool.c -o pool "${LINK_LIBRARY[@]}"
for kib in 4000 5900 6144 7100; do
  SMALLOC_CONF=heap:superpage expect_status 0 ./pool $kib
  again=$(cat out)
  # With release and fault each time: 300 times up to 500.
  [ "$again" -lt 20000 ] || fail "$again page faults of 300 blocks of $kib KiB"
done
