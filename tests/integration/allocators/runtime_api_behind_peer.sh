#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The C interface behind another allocator. If another allocator precedes libsmalloc, its heaps are
# off. The C interface then returns and frees memory of the program's malloc, which is that
# allocator.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
cat >peer.c <<'E'
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
static char memory[64 << 20] __attribute__((aligned(4096)));
static size_t used;
static void *take(size_t alignment, size_t n) {
  size_t at = (used + 16 + alignment - 1) & -alignment;
  if (at + n > sizeof memory) return NULL;
  used = at + n;
  *(size_t *)(memory + at - 16) = n;
  return memory + at;
}
static void known(void *p) { if (p && !((char *)p > memory && (char *)p < memory + sizeof memory)) abort(); }
static int freed;
void *malloc(size_t n) { return take(16, n); }
void *calloc(size_t a, size_t b) { return take(16, a * b); }
int posix_memalign(void **p, size_t a, size_t n) { return (*p = take(a, n)) ? 0 : ENOMEM; }
void *aligned_alloc(size_t a, size_t n) { return take(a, n); }
void *realloc(void *p, size_t n) {
  known(p);
  void *r = take(16, n);
  if (p && r) { size_t had = *(size_t *)((char *)p - 16); memcpy(r, p, had < n ? had : n); }
  return r;
}
void free(void *p) { known(p); freed += p != NULL; }
#ifdef TELLS_SIZES
size_t malloc_usable_size(void *p) { known(p); return p ? *(size_t *)((char *)p - 16) : 0; }
#endif
int peer_freed(void) { return freed; }
E
cat >api.cpp <<'E'
#include "runtime_sites.h"
#include <smalloc/smalloc.hpp>
#include <cerrno>
#include <cstring>
#include <memory_resource>
#include <vector>
extern "C" void free_sized(void *, size_t) __attribute__((weak));
extern "C" void free_aligned_sized(void *, size_t, size_t) __attribute__((weak));
extern "C" int peer_freed() __attribute__((weak));
int main() {
  for (smalloc_pages kind : {SMALLOC_BASE, SMALLOC_SUPERPAGE, SMALLOC_BOTH}) {
    char *p = static_cast<char *>(smalloc_malloc(100, kind)), *q = static_cast<char *>(scalloc(3, 100, kind));
    void *a = smemalign(256, 100, kind);
    CHECK(p && q && a && !smalloc_is_ours(p) && q[299] == 0 && reinterpret_cast<uintptr_t>(a) % 256 == 0);
    memset(p, 5, 100);
    const size_t usable = smalloc_usable_size(p);
    CHECK(usable == 0 || usable >= 100);
    errno = 77;
    p = static_cast<char *>(srealloc(p, 3000));
    CHECK(p && p[99] == 5 && errno == 77);
    sfree(p);
    free(q);
    sfree(a);
    void *m = malloc(100);
    m = srealloc(m, 500);
    sfree(m);
    free(smalloc_malloc(5 << 20, kind));
    CHECK(errno == 77);
  }
  {
    std::vector<double, smalloc::allocator<double>> v(1000, 1.0);
    std::pmr::vector<int> w(1000, 7, smalloc::memory_resource(SMALLOC_SUPERPAGE));
    v.resize(5000);
    w.resize(5000);
  }
  if (free_sized) free_sized(malloc(100), 100);
  if (free_aligned_sized) free_aligned_sized(aligned_alloc(64, 128), 64, 128);
  printf("freed %d\n", peer_freed ? peer_freed() : 0);
}
E
for sizes in "" -DTELLS_SIZES; do
  $CC -O1 -fno-builtin -shared -fPIC $sizes peer.c -o libpeer.so || fail "the peer does not compile"
  build t.cpp -fno-builtin $(linked) <api.cpp
  expect_status 0 env LD_PRELOAD="$PWD/libpeer.so" ./t
  expect_match out '^freed [1-9]'
  # The preloadable library behind it: the names that the program calls are the peer's.
  expect_status 0 env LD_PRELOAD="$PWD/libpeer.so $PRELOAD" ./t
  expect_match out '^freed [1-9]'
  # The program's own malloc.
  $CC -O1 -fno-builtin -fPIC $sizes -c peer.c -o peer.o
  build own.cpp -fno-builtin peer.o $(linked) <api.cpp
  expect_status 0 ./own
  expect_match out '^freed [1-9]'
done
if build asan.cpp -fsanitize=address $(linked) <api.cpp 2>/dev/null; then
  expect_status 0 env ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 ./asan
fi
for peer in libjemalloc.so.2 libmimalloc.so.2 libmimalloc.so.3 libtcmalloc_minimal.so.4; do
  path=$(ldconfig -p | sed -n "s/.*[[:space:]]$peer .*=> //p" | head -1)
  [ -z "$path" ] || expect_status 0 env LD_PRELOAD="$path" ./t
done
