#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# libsmalloc.so is a complete malloc. One program, with glibc's rules as assertions, passes without
# libsmalloc, with heap:auto and with heap:superpage, where every object is libsmalloc's. It also
# allocates before constructors and in late destructors.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
need_thp
build late -shared -fPIC <<'E'
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* Runs before libsmalloc's constructors where the dynamic linker initialises this library first, and after its last. */
static char *early;
static pthread_key_t key;
static void at_thread_end(void *p) { free(p); char *q = malloc(5000); memset(q, 1, 5000); free(realloc(q, 50000)); }
__attribute__((constructor(101))) static void begin(void) { early = strdup("early"); pthread_key_create(&key, at_thread_end); }
void mark_thread(void) { pthread_setspecific(key, malloc(77)); }
__attribute__((destructor(101))) static void end(void) {
  char *p = realloc(early, 3 << 20);
  if (!p || strcmp(p, "early") != 0) abort();
  free(p);
  free(calloc(10, 1000));
  puts("late");
}
E
build t -fno-builtin -w -Wl,-rpath,"$tmp" ./late -ldl <<'E'
#include "runtime_sites.h"
#include <dlfcn.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/wait.h>
void mark_thread(void);
void free_sized(void *, size_t) __attribute__((weak));
void free_aligned_sized(void *, size_t, size_t) __attribute__((weak));
void *__libc_malloc(size_t);
void __libc_free(void *);
void *__libc_realloc(void *, size_t);
static int all_ours;
#define FAILS(want, call) do { errno = 0; void *volatile r_ = (call); CHECK(r_ == NULL && errno == (want)); } while (0)
#define served(p, alignment, bytes) served_at(p, alignment, bytes, __LINE__)
static void *served_at(void *p, size_t alignment, size_t bytes, int line) {
  if (p == NULL || (uintptr_t)p % alignment != 0 || malloc_usable_size(p) < bytes)
    printf("line %d: %p, alignment %zu, usable %zu of %zu\n", line, p, alignment, malloc_usable_size(p), bytes), exit(1);
  memset(p, 0x5a, bytes);
  if (all_ours && !ours(p))
    printf("line %d: not ours: %zu bytes\n", line, bytes), exit(1);
  return p;
}
static void *thread(void *n) {
  mark_thread();
  void *p[64];
  for (int i = 0; i < 64; i++) p[i] = served(malloc(i * 911), 8, i * 911);
  for (int i = 0; i < 64; i++) free(p[i]);
  return served(malloc(1000), 16, 1000); /* freed by another thread, after this one's end */
}
int main(int argc, char **argv) {
  all_ours = strcmp(argv[1], "superpage") == 0;
  int under = strcmp(argv[1], "none") != 0;
  size_t huge[] = {(size_t)PTRDIFF_MAX + 1, SIZE_MAX, SIZE_MAX - 15, SIZE_MAX - 4096, SIZE_MAX / 2 + 2};
  for (size_t i = 0; i < sizeof huge / sizeof *huge; i++) {
    FAILS(ENOMEM, malloc(huge[i])); FAILS(ENOMEM, calloc(1, huge[i])); FAILS(ENOMEM, memalign(64, huge[i]));
    FAILS(ENOMEM, aligned_alloc(64, huge[i])); FAILS(ENOMEM, valloc(huge[i])); FAILS(ENOMEM, pvalloc(huge[i]));
    for (size_t n = 100; n < (size_t)10 << 20; n *= 100) {
      char *p = served(malloc(n), 16, n);
      FAILS(ENOMEM, realloc(p, huge[i])); FAILS(ENOMEM, reallocarray(p, huge[i], 1)); FAILS(ENOMEM, reallocarray(p, huge[i], huge[i]));
      for (size_t k = 0; k < n; k++) CHECK(p[k] == 0x5a); /* as it was */
      free(p);
    }
    void *out = &out;
    errno = 0;
    CHECK(posix_memalign(&out, 64, huge[i]) == ENOMEM && out == &out);
  }
  FAILS(ENOMEM, calloc(SIZE_MAX / 2, 3)); FAILS(ENOMEM, calloc((size_t)1 << 33, (size_t)1 << 33)); FAILS(ENOMEM, reallocarray(NULL, SIZE_MAX, 2));

  void *a = malloc(0), *b = malloc(0), *c = calloc(0, 9), *d = realloc(NULL, 0), *e = memalign(4096, 0), *g = pvalloc(0), *h = valloc(0);
  CHECK(a && b && c && d && e && g && h && a != b && b != c && c != d);
  CHECK((uintptr_t)e % 4096 == 0 && (uintptr_t)g % 4096 == 0 && (uintptr_t)h % 4096 == 0);
  served(pvalloc(1), 4096, 4096);
  if (all_ours) CHECK(ours(a) && ours(c) && ours(d) && ours(e) && ours(h));
  free(a); free(b); free(c); free(d); free(e); free(g); free(h);
  CHECK(realloc(malloc(100), 0) == NULL); /* freed, as glibc */
  CHECK(realloc(malloc(9 << 20), 0) == NULL && reallocarray(malloc(10), 7, 0) == NULL);
  CHECK(malloc_usable_size(NULL) == 0);
  free(NULL);

  for (size_t align = 8; align <= (size_t)4 << 20; align *= 2)
    for (size_t n = 0; n <= (size_t)5 << 20; n = n * 9 + 1) {
      void *p = NULL;
      free(served(memalign(align, n), align, n)); free(served(aligned_alloc(align, n), align, n));
      CHECK(posix_memalign(&p, align, n) == 0);
      free(served(p, align, n));
    }
  void *p = &p;
  size_t bad[] = {0, 1, 2, 3, 4, 12, 24, 100, 4097};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK(posix_memalign(&p, bad[i], 64) == EINVAL && p == &p);
  FAILS(EINVAL, memalign(SIZE_MAX / 2 + 2, 10));
  if (all_ours) { FAILS(EINVAL, aligned_alloc(3, 10)); FAILS(EINVAL, aligned_alloc(0, 10)); }
  free(served(memalign(3, 100), 4, 100)); /* rounded up, as glibc */

  for (size_t n = 1; n < (size_t)40 << 20; n = n * 3 + 5) /* memory that was dirty before */
    for (int k = 0; k < 3; k++) {
      unsigned char *z = calloc(1, n);
      for (size_t i = 0; i < n; i++) CHECK(z[i] == 0);
      free(served(z, 8, n));
    }
  for (size_t n = 1; n < (size_t)20 << 20; n = n * 5 + 3) /* growing and shrinking keep the contents */
    for (size_t m = 1; m < (size_t)20 << 20; m = m * 7 + 11) {
      unsigned char *r = malloc(n);
      for (size_t i = 0; i < n; i += 997) r[i] = (unsigned char)i;
      r = realloc(r, m);
      for (size_t i = 0; i < n && i < m; i += 997) CHECK(r[i] == (unsigned char)i);
      free(served(r, 8, m));
    }

  for (int i = 0; i < 200; i++) { /* 16 for every size, as glibc: compilers rely on it */
    void *tiny[] = {malloc(i % 20), calloc(1, i % 20), memalign(16, i % 20), realloc(malloc(100), i % 20 + 1)};
    for (int k = 0; k < 4; k++) CHECK((uintptr_t)tiny[k] % 16 == 0);
  }
  void *kinds[] = {malloc(40), malloc(70000), malloc(9 << 20), calloc(3, 3 << 20), memalign(1 << 21, 1 << 22)};
  for (size_t i = 0; i < 5; i++) { errno = 4711; free(kinds[i]); CHECK(errno == 4711); }
  errno = 4711;
  for (int i = 0; i < 3000; i++) free(malloc(i * 61));
  free(NULL);
  CHECK(errno == 4711);
#define SAME(expression) do { errno = 4711; expression; CHECK(errno == 4711); } while (0)
  for (size_t n = 10; n < (size_t)9 << 20; n *= 70)
    for (int i = 0; i < 40; i++) { /* nothing that succeeds changes it */
      void *some[8];
      SAME(some[0] = malloc(n)); SAME(some[1] = calloc(3, n)); SAME(some[2] = realloc(NULL, n)); SAME(some[3] = memalign(256, n));
      SAME(some[4] = aligned_alloc(256, n * 256)); SAME(CHECK(posix_memalign(&some[5], 256, n) == 0)); SAME(some[6] = valloc(n)); SAME(some[7] = pvalloc(n));
      for (int k = 0; k < 8; k++) {
        CHECK(some[k] && malloc_usable_size(some[k]) >= n);
        SAME(some[k] = realloc(some[k], 2 * n)); SAME(some[k] = reallocarray(some[k], 3, n));
        SAME(free(some[k]));
      }
    }
  if (under) {
    CHECK(free_sized && free_aligned_sized);
    free_sized(malloc(100), 100); free_sized(malloc(9 << 20), 9 << 20); free_aligned_sized(aligned_alloc(256, 512), 256, 512);
    free_sized(NULL, 0); free_aligned_sized(NULL, 8, 0);
    void *m = __libc_malloc(100); /* glibc's own object, which any name of free accepts, as it accepts libsmalloc's */
    m = realloc(m, 5000); m = __libc_realloc(m, 100000); free(m); free(__libc_realloc(malloc(100), 9 << 20)); __libc_free(malloc(33)); __libc_free(malloc(20 << 20));
  }

  struct mallinfo2 before = mallinfo2();
  void *keep = malloc(50 << 20), *small[1000];
  for (int i = 0; i < 1000; i++) small[i] = malloc(3000);
  struct mallinfo2 with = mallinfo2();
  /* free objects in a thread's cache count as used, so a part of the 3,000,000 may have counted before */
  CHECK(with.uordblks + with.hblkhd >= before.uordblks + before.hblkhd + (50 << 20) + 2500000);
  CHECK(with.uordblks + with.hblkhd < before.uordblks + before.hblkhd + (60 << 20) && with.hblks > before.hblks);
  CHECK((size_t)mallinfo().hblkhd == with.hblkhd);
  for (int i = 0; i < 1000; i++) free(small[i]);
  free(keep);
  struct mallinfo2 after = mallinfo2();
  CHECK(after.uordblks + after.hblkhd < with.uordblks + with.hblkhd - (50 << 20));
  for (int i = 0; i < 1000; i++) memset(small[i] = malloc(30000), 1, 30000);
  for (int i = 0; i < 1000; i++) free(small[i]);
  malloc_trim(0);
  CHECK(malloc_trim(0) == 0 || 1); /* any answer; must return */
  CHECK(mallopt(M_MMAP_THRESHOLD, 1 << 20) == 1);
  char *text = NULL;
  size_t size = 0;
  FILE *f = open_memstream(&text, &size);
  CHECK(malloc_info(0, f) == 0 && malloc_info(1, f) != 0);
  fclose(f);
  CHECK(strncmp(text, "<malloc version=\"1\">", 20) == 0 && strcmp(text + size - 10, "</malloc>\n") == 0);
  if (all_ours) CHECK(strstr(text, "<smalloc version="));
  free(text);
  malloc_stats();

  pthread_t t[16];
  for (int i = 0; i < 16; i++) pthread_create(&t[i], NULL, thread, NULL);
  for (int i = 0; i < 40; i++) { /* fork with threads: both sides go on allocating */
    pid_t pid = fork();
    if (pid == 0) { for (int k = 0; k < 200; k++) free(malloc(k * 500)); _exit(0); }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
  }
  for (int i = 0; i < 16; i++) { void *r; pthread_join(t[i], &r); free(r); }
  void *l = dlopen("libm.so.6", RTLD_NOW);
  CHECK(l && dlsym(l, "cos") && !dlsym(l, "no_such_name") && dlerror() && dlclose(l) == 0);
  puts("all");
  return 0;
}
E
for mode in none split superpage; do
  case $mode in
  none) expect_status 0 ./t none ;;
  *) LD_PRELOAD=$PRELOAD SMALLOC_CONF=heap:$mode expect_status 0 ./t $mode ;;
  esac
  expect_match out '^all$'
  expect_match out '^late$'
done
LD_PRELOAD=$PRELOAD SMALLOC_CONF=heap:superpage,debug:on expect_status 0 ./t superpage
expect_no_match err 'contradict'
expect_match err 'smalloc: heaps:'
# Allocations before libsmalloc's constructors: no constructor resets state that is in use.
for library in "$LIB" "$PRELOAD"; do
  ! nm "$library" | grep GLOBAL__sub_I || fail "$library has a constructor for its own variables"
done
# A wrapper of malloc behind libsmalloc that reaches glibc by __libc_malloc and __libc_free, as
# glibc's debugging library does.
debug=$($CC -print-file-name=libc_malloc_debug.so.0)
if [ -e "$debug" ]; then
  for conf in split superpage; do
    MALLOC_CHECK_=3 LD_PRELOAD="$PRELOAD $debug" SMALLOC_CONF=heap:$conf expect_status 0 timeout 60 ls /
  done
fi
