#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Every form of operator new under libsmalloc.so. With heap:superpage libsmalloc serves it, also
# beside a peer that defines its own forms. new_handler and bad_alloc stay the C++ runtime's. An
# operator new that a library of the program replaces is called.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
need_thp
cat >t_source <<'E'
#include "runtime_sites.h"
#include <new>
#include <vector>
#include <string>
static int handled;
static void *volatile sink;
static void handler() { if (++handled == 3) std::set_new_handler(nullptr); }
static bool all_ours, peers_rules;
static void served(void *p, size_t align, size_t n, int line) {
  if (peers_rules && align == 16) align = 8;
  if (!p || (uintptr_t)p % align || malloc_usable_size(p) < n || (all_ours && !ours(p))) { printf("line %d\n", line); exit(1); }
  memset(p, 1, n);
}
#define SERVED(p, a, n) served(p, a, n, __LINE__)
#define throws(f) throws_at(f, __LINE__)
template <class F> static void throws_at(F f, int line) {
  handled = 0;
  std::set_new_handler(handler);
  bool caught = false;
  std::string unwound(100, 'x'); // a destructor runs on the way
  try { f(); } catch (std::bad_alloc &) { caught = true; }
  if (!caught || handled != 3) { printf("line %d: caught %d handled %d\n", line, caught, handled); exit(1); }
}
int main(int argc, char **argv) {
  all_ours = strncmp(argv[1], "ours", 4) == 0, peers_rules = strcmp(argv[1], "peer") == 0;
  volatile size_t none = 0, huge = SIZE_MAX / 2 - 100;
  for (size_t n : {(size_t)none, (size_t)1, (size_t)24, (size_t)5000, (size_t)100000, (size_t)9 << 20}) {
    void *p;
    SERVED(p = operator new(n), 16, n), operator delete(p);
    SERVED(p = operator new[](n), 16, n), operator delete[](p);
    SERVED(p = operator new(n), 16, n), operator delete(p, n);
    SERVED(p = operator new[](n), 16, n), operator delete[](p, n);
    SERVED(p = operator new(n, std::nothrow), 16, n), operator delete(p, std::nothrow);
    SERVED(p = operator new[](n, std::nothrow), 16, n), operator delete[](p, std::nothrow);
    for (size_t a : {16, 64, 4096, 1 << 21}) {
      auto A = std::align_val_t(a);
      SERVED(p = operator new(n, A), a, n), operator delete(p, A);
      SERVED(p = operator new[](n, A), a, n), operator delete[](p, A);
      SERVED(p = operator new(n, A), a, n), operator delete(p, n, A);
      SERVED(p = operator new[](n, A), a, n), operator delete[](p, n, A);
      SERVED(p = operator new(n, A, std::nothrow), a, n), operator delete(p, A, std::nothrow);
      SERVED(p = operator new[](n, A, std::nothrow), a, n), operator delete[](p, A, std::nothrow);
    }
  }
  if (!strstr(argv[1], "peer")) { // some peers abort instead of throwing
    throws([&] { sink = operator new(huge); });
    throws([&] { sink = operator new[](huge); });
    throws([&] { sink = operator new(huge, std::align_val_t(64)); });
    throws([&] { sink = operator new[](huge, std::align_val_t(64)); });
    std::set_new_handler(nullptr);
    CHECK(!operator new(huge, std::nothrow) && !operator new[](huge, std::nothrow));
    CHECK(!operator new(huge, std::align_val_t(64), std::nothrow) && !operator new[](huge, std::align_val_t(64), std::nothrow));
  }
  std::vector<std::string> v;
  for (int i = 0; i < 20000; i++) v.emplace_back(i % 300, 'y');
  for (auto &s : v) CHECK(s.find('n') == s.npos);
  puts("all");
}
E
build t.cpp -fno-builtin -w <t_source
expect_status 0 ./t none
LD_PRELOAD=$PRELOAD SMALLOC_CONF=heap:superpage expect_status 0 ./t ours
expect_match out '^all$'
LD_PRELOAD=$PRELOAD SMALLOC_CONF=heap:auto expect_status 0 ./t split
LD_PRELOAD=$LIB expect_status 0 ./t guest
for peer in /usr/lib/*/libjemalloc.so.2 /usr/lib/*/libmimalloc.so.[23] /usr/lib/*/libtcmalloc_minimal.so.4; do
  [ -e "$peer" ] || continue
  LD_PRELOAD="$PRELOAD $peer" SMALLOC_CONF=heap:superpage expect_status 0 ./t ours-peer
  LD_PRELOAD="$PRELOAD $peer" SMALLOC_CONF=heap:auto expect_status 0 ./t peer
  LD_PRELOAD="$LIB $peer" expect_status 0 ./t peer
done
# A library of the program replaces operator new. libsmalloc does not serve it, and the replaced
# delete gets only its own objects.
build libown.cpp -shared -fPIC -w <<'E'
#include <cstdio>
#include <cstdlib>
#include <new>
static size_t balance, calls;
void *operator new(size_t n) { balance++, calls++; char *p = (char *)malloc(n + 16); return p + 16; }
void operator delete(void *p) noexcept { if (p) balance--, free((char *)p - 16); }
void operator delete(void *p, size_t) noexcept { operator delete(p); }
struct Tell { ~Tell() { printf("own balance %zu calls %d\n", balance, calls > 100); } } tell;
E
build replaced.cpp -fno-builtin -w "$tmp/libown" -Wl,-rpath,"$tmp" <<'E'
#include <map>
#include <stdio.h>
int main() {
  { std::map<int, int> m; for (int i = 0; i < 1000; i++) m[i] = i; delete new char[1]; char *p = new char; delete p; }
  puts("done");
}
E
for conf in heap:superpage heap:auto; do
  LD_PRELOAD=$PRELOAD SMALLOC_CONF=$conf expect_status 0 ./replaced
  expect_match out '^own balance 0 calls 1$'
done
# The program itself replaces two of the forms. The C++ runtime's other forms call those two, so
# their objects begin behind the program's own mark.
build itself.cpp -fno-builtin -w <<'E'
#include <cstdio>
#include <cstdlib>
#include <new>
static long live, calls;
void *operator new(size_t n) { live++, calls++; long *p = (long *)malloc(n + 16); *p = 0x600d; return p + 2; }
void operator delete(void *p) noexcept {
  if (!p) return;
  long *mark = (long *)p - 2;
  if (*mark != 0x600d) { puts("not mine"); exit(1); }
  live--, *mark = 0, free(mark);
}
struct Part { ~Part() { alive--; } static long alive; int data[9]; };
long Part::alive;
int main() {
  static const size_t sizes[] = {1, 100, 5000, 9 << 20};
  for (size_t n : sizes) {
    delete[] new char[n];
    delete[] new (std::nothrow) char[n];
    operator delete(operator new(n), n);
    operator delete[](operator new[](n), n);
    Part::alive += 3;
    delete[] new Part[3];
  }
  printf("live %ld alive %ld calls %ld\n", live, Part::alive, calls);
}
E
expect_status 0 ./itself
expect_match out '^live 0 alive 0 calls 20$'
for conf in heap:superpage heap:auto; do
  for library in "$PRELOAD" "$LIB"; do
    LD_PRELOAD=$library SMALLOC_CONF=$conf expect_status 0 ./itself
    expect_match out '^live 0 alive 0 calls 20$'
  done
done
# An allocator in front of libsmalloc that defines only the C names: its free gets what operator new
# returned.
build libfront -shared -fPIC -fno-builtin -w <<'E'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char pool[64 << 20];
static size_t used;
void *malloc(size_t n) {
  char *p = pool + used;
  used += (n + 63) & ~31ul;
  if (used > sizeof pool) _exit(8);
  *(long *)p = 0x600d;
  return p + 32;
}
void free(void *p) { if (p && ((long *)p)[-4] != 0x600d) _exit(9); }
void *calloc(size_t a, size_t b) { return memset(malloc(a * b), 0, a * b); }
void *realloc(void *p, size_t n) { void *q = malloc(n); return p ? memcpy(q, p, n) : q; }
E
build strings.cpp -w <<'E'
#include <stdio.h>
#include <string>
#include <vector>
int main() {
  std::vector<std::string> v;
  for (int i = 0; i < 1000; i++) v.push_back(std::string(i, 'x'));
  puts("done");
}
E
for library in "$PRELOAD" "$LIB"; do
  LD_PRELOAD="$tmp/libfront $library" expect_status 0 ./strings
  expect_match out '^done$'
done
