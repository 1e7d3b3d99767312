#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program replaces some forms of operator new and delete. The others call those, as the C++
# runtime's do, so every object has the program's own mark in front. Static, dynamic, and with the
# C++ runtime inside the program.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
ARCHIVE=$LIBDIR/libsmalloc.a
cat >own.cpp <<'E'
#include <cstdio>
#include <cstdlib>
#include <new>
long live, calls;
static void *marked(std::size_t n, std::size_t a) {
  char *p = (char *)aligned_alloc(a, (n + 2 * a - 1) / a * a) + a;
  ((long *)p)[-1] = 0x600d;
  live++, calls++;
  return p;
}
static void give_back(void *p, std::size_t a) {
  if (!p) return;
  if (((long *)p)[-1] != 0x600d) puts("not mine"), exit(1);
  ((long *)p)[-1] = 0;
  live--, free((char *)p - a);
}
using A = std::align_val_t;
#if REPLACED == 1
void *operator new(std::size_t n) { return marked(n, 16); }
void operator delete(void *p) noexcept { give_back(p, 16); }
void operator delete(void *p, std::size_t) noexcept { operator delete(p); }
#elif REPLACED == 2
void *operator new[](std::size_t n) { return marked(n, 16); }
void operator delete[](void *p) noexcept { give_back(p, 16); }
#elif REPLACED == 3
void *operator new(std::size_t n, A a) { return marked(n, (std::size_t)a); }
void operator delete(void *p, A a) noexcept { give_back(p, (std::size_t)a); }
#elif REPLACED == 4
void *operator new[](std::size_t n, A a) { return marked(n, (std::size_t)a); }
void operator delete[](void *p, A a) noexcept { give_back(p, (std::size_t)a); }
#endif
E
cat >uses.cpp <<'E'
#include <cstdio>
#include <cstring>
#include <new>
#include <vector>
extern long live, calls;
struct Part { ~Part() { alive--; } static long alive; int data[9]; };
long Part::alive;
struct alignas(64) Wide { char bytes[64]; };
struct Node { unsigned char bytes[64]; };
template <class T> T *filled(T *p, std::size_t n) { memset((void *)p, 0x5a, n); return p; }
void all_forms(std::size_t n) {
  auto A = std::align_val_t(64);
  auto N = std::nothrow;
  auto plain = [n](void *p) { return filled(p, n); };
  operator delete(plain(operator new(n)));
  operator delete(plain(operator new(n)), n);
  operator delete(plain(operator new(n, N)), N);
  operator delete[](plain(operator new[](n)));
  operator delete[](plain(operator new[](n)), n);
  operator delete[](plain(operator new[](n, N)), N);
  operator delete(plain(operator new(n, A)), A);
  operator delete(plain(operator new(n, A)), n, A);
  operator delete(plain(operator new(n, A, N)), A, N);
  operator delete[](plain(operator new[](n, A)), A);
  operator delete[](plain(operator new[](n, A)), n, A);
  operator delete[](plain(operator new[](n, A, N)), A, N);
}
int main() {
  for (std::size_t n : {std::size_t(1), std::size_t(100), std::size_t(5000), std::size_t(9) << 20}) all_forms(n);
  printf("calls %ld\n", calls);
  Part::alive = 3000;
  for (int i = 0; i < 1000; i++) delete[] new Part[3];
  for (std::size_t n : {std::size_t(9), std::size_t(300000)}) {
    delete[] filled(new char[n], n), delete[] filled(new Wide[n], n);
    delete filled(new Wide, 64), delete filled(new Node, 64);
  }
  long wrong = 0;
  std::vector<Node *> all(5000);
  for (int round = 0; round < 3; round++) {
    for (std::size_t i = 0; i < all.size(); i++) memset(all[i] = new Node[1], (int)(i * 7 + round), sizeof(Node));
    for (std::size_t i = 0; i < all.size(); i++) for (unsigned char c : all[i]->bytes) wrong += c != (unsigned char)(i * 7 + round);
    for (Node *p : all) delete[] p;
  }
  all = {};
  all.shrink_to_fit();
  printf("live %ld alive %ld overwritten %ld\n", live, Part::alive, wrong);
}
E
# The program's only new has a hint: nothing else links the C++ runtime's form of it.
cat >hinted.cpp <<'E'
#include <cstdio>
#include <cstdlib>
extern long live, calls;
extern "C" void *_Znam12__hot_cold_t(std::size_t, unsigned char), *_ZnamRKSt9nothrow_t12__hot_cold_t(std::size_t, const void *, unsigned char);
int main() {
  char nothrow;
  operator delete[](_Znam12__hot_cold_t(100, 1)), operator delete[](_Znam12__hot_cold_t(100, 255));
  operator delete[](_ZnamRKSt9nothrow_t12__hot_cold_t(100, &nothrow, 255));
  printf("calls %ld\nlive %ld alive 0 overwritten 0\n", calls, live);
}
E
runs_well() { # CALLS CMD...
  local calls=$1
  shift
  expect_status 0 "$@"
  expect_match out "^calls $calls\$"
  expect_match out '^live 0 alive 0 overwritten 0$'
}
linked() { # CALLS FLAG...: without the library, with it, and with a preloaded one
  local calls=$1 library
  shift
  quietly "$CLANGXX" own.o uses.o "$@" -o without
  quietly "$CLANGXX" own.o uses.o "$@" "${LINK_LIBRARY[@]}" -o with
  runs_well "$calls" ./without
  for conf in heap:auto heap:guest heap:superpage; do
    runs_well "$calls" env SMALLOC_CONF=$conf ./with
    for library in "$LIB" "$PRELOAD"; do
      runs_well "$calls" env SMALLOC_CONF=$conf LD_PRELOAD="$library" ./without
    done
  done
}
calls=(0 24 12 24 12)
for replaced in 1 2 3 4; do
  echo "== replaced: $replaced"
  quietly "$CLANGXX" -O1 -fPIC -std=c++17 -DREPLACED=$replaced -c own.cpp -o own.o
  if [ $replaced -le 2 ] && [ -e "$("$CLANG" -print-file-name=libc.a)" ]; then
    quietly "$CLANGXX" -O1 -static hinted.cpp own.o "$ARCHIVE" -o hinted
    runs_well 3 ./hinted
  fi
  for flags in -fno-builtin "-fplugin=$PLUGIN"; do
    quietly "$CLANGXX" -O1 -fPIC -std=c++17 -fsized-deallocation "$flags" -c uses.cpp -o uses.o
    if [ -e "$("$CLANG" -print-file-name=libc.a)" ]; then
      quietly "$CLANGXX" -static own.o uses.o "$ARCHIVE" -o static
      for conf in heap:auto heap:guest heap:superpage; do runs_well "${calls[replaced]}" env SMALLOC_CONF=$conf ./static; done
    fi
    linked "${calls[replaced]}"
    linked "${calls[replaced]}" -static-libstdc++
  done
done
