#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A unit that defines malloc or operator new is not rewritten; a program with its own allocator runs.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_gather
cat >own.c <<'C'
#include <stddef.h>
#include <string.h>
static char pool[256 << 20];
static size_t used;
int own_calls;
void *malloc(size_t n) { own_calls++; used = (used + 63) & ~(size_t)63; void *p = pool + used; used += n; return used <= sizeof pool ? p : NULL; }
void free(void *p) { (void)p; }
void *calloc(size_t a, size_t b) { return malloc(a * b); }
void *realloc(void *p, size_t n) { void *q = malloc(n); if (p && q) memcpy(q, p, n); return q; }
void *aligned_alloc(size_t a, size_t n) { (void)a; return malloc(n); }
int posix_memalign(void **out, size_t a, size_t n) { (void)a; *out = malloc(n); return 0; }
C
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -c own.c -o own.o
! calls_thunk own.o || fail "the unit that defines malloc was rewritten"
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -c gather.c -o gather.o
quietly "$CLANG" gather.o own.o -o without
runs_plain ./without
# The program's own free takes precedence: libsmalloc does nothing.
quietly "$CLANG" gather.o own.o "${LINK_LIBRARY[@]}" -o with
runs_plain ./with
runs_plain env LD_PRELOAD="$LIB" ./without
# This holds for hidden functions as well, which no symbol look-up finds.
quietly "$CLANG" -O2 -fvisibility=hidden -fplugin="$PLUGIN" -c own.c -o own.o
quietly "$CLANG" gather.o own.o "${LINK_LIBRARY[@]}" -o with
runs_plain ./with

cat >own.cpp <<'C'
#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>
static int live;
void *operator new(std::size_t n) { live++; if (void *p = std::malloc(n + 16)) return static_cast<char *>(p) + 16; throw std::bad_alloc(); }
void operator delete(void *p) noexcept { if (p) { live--; std::free(static_cast<char *>(p) - 16); } }
void operator delete(void *p, std::size_t) noexcept { operator delete(p); }
int main() {
  { std::vector<double> v(1 << 20); double s = 0;
    for (std::size_t j = 0; j < 512; j++) for (std::size_t i = j; i < v.size(); i += 512) s += v[i];
    std::printf("%.0f ", s); }
  std::printf("live %d\n", live);
}
C
quietly "$CLANGXX" -O2 -fplugin="$PLUGIN" own.cpp -o without
expect_status 0 ./without
expect_match out '^0 live 0$'
quietly "$CLANGXX" -O2 -fplugin="$PLUGIN" own.cpp "${LINK_LIBRARY[@]}" -o with
expect_status 0 ./with
expect_match out '^0 live 0$'
