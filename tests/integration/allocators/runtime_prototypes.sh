#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Allocation functions of every name, declared as in old programs or not declared, are served. They
# keep their guarantees, and fail where they fail without libsmalloc. Tested with assembly thunks,
# with IR thunks, and with a link that merges units with different declarations.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
cat >old.c <<'C'
#include <errno.h>
#include <stdint.h>
#include <string.h>
#ifdef UNPROTOTYPED
char *malloc(), *realloc(), *memalign(), *valloc(), *pvalloc(), *reallocarray(), *aligned_alloc(), *calloc();
int posix_memalign();
#define N(n) (n)
#else
typedef unsigned size;
extern void *malloc(size), *realloc(void *, size), *memalign(size, size), *valloc(size), *pvalloc(size), *calloc(size, size);
extern void *reallocarray(void *, size, size), *aligned_alloc(size, size);
extern int posix_memalign(void **, size, size);
#define N(n) (n)
#endif
extern void free(void *);
extern int smalloc_is_ours(const void *) __attribute__((weak));
extern int puts(const char *), printf(const char *, ...);
extern void *right(unsigned long);
static int failed;
__attribute__((noinline)) static void check(const char *what, char *p, uintptr_t alignment, unsigned long bytes) {
  if (!p || (uintptr_t)p % alignment)
    failed |= printf("%s: %p\n", what, (void *)p);
  memset(p, 1, bytes);
  if (smalloc_is_ours && !smalloc_is_ours(p))
    failed |= printf("%s is not ours\n", what);
  free(p);
}
__attribute__((noinline)) static char *numbered(char *p, unsigned bytes) {
  for (unsigned i = 0; p && i < bytes; i++)
    p[i] = (char)(i % 251);
  return p;
}
static void check_moved(const char *what, char *p, unsigned kept, unsigned long bytes) {
  for (unsigned i = 0; p && i < kept; i++)
    if (p[i] != (char)(i % 251)) {
      failed |= printf("%s: byte %u\n", what, i);
      break;
    }
  check(what, p, 16, bytes);
}
int main(int argc, char **argv) {
  unsigned n = 5000000u * argc, page = 4096;
  check("malloc", malloc(N(n)), 16, n);
  check("right", right(n), 16, n);
  check("calloc", calloc(N(n / 8), N(8)), 16, n / 8 * 8);
  check("memalign", memalign(256, N(n)), 256, n);
  check("aligned_alloc", aligned_alloc(64, N(n)), 64, n);
  check("valloc", valloc(N(n)), page, n);
  check("pvalloc", pvalloc(N(n)), page, (n + page - 1) / page * page);
  void *p = 0;
  if (posix_memalign(&p, 128, N(n)))
    failed |= puts("posix_memalign");
  check("posix_memalign", p, 128, n);
  check_moved("realloc", realloc(numbered(malloc(N(n)), n), N(2 * n)), n, 2 * n);
  check_moved("reallocarray", reallocarray(numbered(malloc(N(n)), n), N(2 * n / 16), N(16)), n, 2 * n / 16 * 16);
  check_moved("reallocarray of nothing", reallocarray((char *)0, N(n / 16), N(16)), 0, n / 16 * 16);
#ifdef UNPROTOTYPED
  errno = 0;
  if (reallocarray((char *)0, ~0ul / 8 * argc, 16ul) || errno != ENOMEM)
    failed |= puts("reallocarray took a product that there is none of");
  errno = 0;
  if (pvalloc(~0ul - 5 * argc) || errno != ENOMEM)
    failed |= puts("pvalloc took more than there is");
#endif
  (void)argv;
  return failed != 0;
}
C
cat >right.c <<'C'
#include <stdlib.h>
void *right(size_t bytes) { return malloc(bytes); }
C
for form in "" -DUNPROTOTYPED; do
  for kind in "" -masm=intel -flto -flto=thin; do
    flags=(-O2 -w -std=gnu17 -fplugin="$PLUGIN" -fplugin-arg-smalloc-heap=superpage -fplugin-arg-smalloc-rewrite=all ${form:+"$form"} ${kind:+"$kind"})
    link=()
    if [[ $kind = -flto* ]]; then
      ! misses_linker lld || continue
      link=(-fuse-ld=lld -Wl,-mllvm,-load="$PLUGIN" -Wl,--load-pass-plugin="$PLUGIN")
    fi
    for order in "old.c right.c" "right.c old.c"; do
      # shellcheck disable=SC2086 # two words
      quietly "$CLANG" "${flags[@]}" $order "${link[@]}" -o without
      expect_status 0 ./without
      # shellcheck disable=SC2086
      quietly "$CLANG" "${flags[@]}" $order "${link[@]}" "${LINK_LIBRARY[@]}" -o with
      [ "$(count_sites with)" -ge 14 ] || fail "$form $kind: $(count_sites with) sites"
      expect_status 0 ./with
    done
  done
done
