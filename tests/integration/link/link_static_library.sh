#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# libsmalloc.a is a complete malloc for static programs. Sites of programs built with the plugin get
# superpages (C and C++, three linkers, -static-pie). A program built without it runs, with
# superpages for everything if requested. No private symbol is visible. A program that defines its
# own malloc links, and uses it.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
ARCHIVE=$LIBDIR/libsmalloc.a
[ -e "$ARCHIVE" ] || fail "$ARCHIVE is not built"
[ -e "$("$CLANG" -print-file-name=libc.a)" ] || skip "no static C library"
write_gather
for linker in bfd gold lld; do
  ! misses_linker $linker || continue
  quietly "$CLANG" -O2 -fplugin="$PLUGIN" -static -fno-pie gather.c "$ARCHIVE" -fuse-ld="$linker" -o static
  runs_huge ./static
  SMALLOC_CONF=populate:always,heap:off runs_plain ./static
done
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -static-pie -fPIE gather.c "$ARCHIVE" -o static_pie
runs_huge ./static_pie
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -static -Wl,--gc-sections gather.c -L"$LIBDIR" -lsmalloc -o static
strip ./static
runs_huge ./static

# C++ without the plugin: libsmalloc serves new and delete, exceptions pass, threads start and end.
cat >cxx.cpp <<'E'
#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <map>
#include <new>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>
extern "C" int smalloc_is_ours(const void *);
int main(int argc, char **argv) {
  bool all = argc > 1;
  std::vector<std::thread> threads;
  std::vector<std::string *> left(8);
  for (int k = 0; k < 8; k++)
    threads.emplace_back([k, &left, all] {
      std::map<int, std::string> m;
      for (int i = 0; i < 3000; i++) m[i * k] = std::string(i % 500, 'x');
      for (auto &e : m) if (all && !smalloc_is_ours(&e)) puts("not ours"), exit(1);
      left[k] = new std::string(100000, 'y');
    });
  for (auto &t : threads) t.join();
  for (auto *s : left) delete s;
  struct alignas(256) Wide { char c[256]; };
  for (int i = 0; i < 100; i++) { auto *w = new Wide[i + 1]; if ((size_t)w % 256) return 2; delete[] w; }
  volatile size_t huge = (size_t)-1 / 2 - 100;
  bool caught = false;
  try { delete[] new char[huge]; } catch (std::bad_alloc &) { caught = true; }
  if (!caught) return 3;
  for (int i = 0; i < 20; i++) { pid_t pid = fork(); if (!pid) { free(malloc(i * 99999)); _exit(0); } int s; waitpid(pid, &s, 0); if (s) return 4; }
  struct mallinfo2 before = mallinfo2();
  void *p = malloc(30 << 20), *q = malloc(1000);
  struct mallinfo2 after = mallinfo2();
  // Free objects in a thread's cache count as used. The large request may empty a part of the cache.
  if (after.uordblks + after.hblkhd + (256 << 10) < before.uordblks + before.hblkhd + (30 << 20)) return 5;
  if (mallopt(M_MMAP_THRESHOLD, 1000) != 1) return 6;
  free(p), free(q), malloc_trim(0);
  puts("done");
}
E
quietly "$CLANGXX" -O1 -fno-builtin -static cxx.cpp "$ARCHIVE" -o cxx
for conf in heap:auto heap:guest heap:off heap:migrate; do
  SMALLOC_CONF=populate:always,$conf expect_status 0 ./cxx
  expect_match out '^done$'
done
case $(thp_mode) in
madvise | always)
  SMALLOC_CONF=populate:always,heap:superpage expect_status 0 ./cxx all
  expect_match out '^done$'
  ;;
esac

# The same symbols as libsmalloc.so (and names whose object in libc.a also contains a malloc).
nm -g --defined-only "$ARCHIVE" | awk 'NF == 3 {print $3}' | sort -u >shown
nm -D --defined-only "$LIBDIR/libsmalloc.so" | awk '{print $3}' | sort -u >preload
expect_no_match shown '^(je|ctl|prof)'
[ "$(comm -23 shown preload | grep -vE '^(mallopt|__libc_[a-z]+|__posix_memalign)$')" = '' ] || fail "shown by libsmalloc.a only: $(comm -23 shown preload)"
expect_match shown '^pvalloc$'

# A program with its own malloc: libsmalloc does nothing, with a warning if a site would have got a
# superpage.
cat >own.c <<'E'
#include <stddef.h>
#include <stdio.h>
#include <string.h>
static _Alignas(64) char arena[256 << 20];
static size_t used;
void *malloc(size_t n) { size_t *p = (size_t *)(arena + used); used += (n + 16 + 63) / 64 * 64; if (used > sizeof arena) return NULL; *p = n; return (char *)p + 16; }
void free(void *p) { (void)p; }
void *realloc(void *p, size_t n) { void *q = malloc(n); if (q && p) memcpy(q, p, ((size_t *)p)[-2] < n ? ((size_t *)p)[-2] : n); return q; }
void *calloc(size_t n, size_t m) { return malloc(n * m); } /* memory is never reused, so it is zero */
E
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -static -Wl,-u,smalloc_version gather.c own.c "$ARCHIVE" -o own
runs_plain ./own
expect_match err 'smalloc: warning: '
end_thp
