#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Hints of other tools: Clang's AllocToken in both forms of its interface, and LLVM's operator new
# with __hot_cold_t. With many objects, those with pointers and hot ones come from libsmalloc. Those
# without pointers and cold ones stay with the program's malloc, also under heap:superpage of
# libsmalloc.so if they are cold. Failures are those of the program's malloc.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
export SMALLOC_CONF=heap:guest,populate:always # beside the program's malloc
need_thp
command -v "$CLANG" >/dev/null || skip "no $CLANG"
cat >tokens.cpp <<'E'
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <new>
extern "C" int smalloc_is_ours(const void *);
#define CHECK(c) do { if (!(c)) printf("line %d: %s\n", __LINE__, #c), exit(1); } while (0)
struct Node { Node *next; long value; };
struct alignas(64) Wide { Wide *next; char text[56]; };
static void *volatile sink;
static int has(const void *p) { return smalloc_is_ours(p); }
int main() {
  Node *list = nullptr;
  for (int i = 0; i < 2000000; i++) { // 32 MiB of nodes, beyond the TLB's reach
    Node *n = static_cast<Node *>(malloc(sizeof(Node)));
    n->next = list, n->value = i, list = n;
  }
  int ours = 0, plain = 0;
  for (int i = 0; i < 1000; i++) {
    Node *n = (Node *)malloc(sizeof(Node)), *m = new Node, *a = new Node[3], *z = (Node *)calloc(2, sizeof(Node));
    Wide *w = new Wide;
    CHECK(z[1].next == nullptr && (uintptr_t)w % 64 == 0);
    ours += has(n) + has(m) + has(a) + has(z) + has(w);
    char *c = (char *)malloc(100), *d = new char[100];
    c[0] = d[0] = 1, sink = c, sink = d;
    plain += !has(c) + !has(d);
    n = (Node *)realloc(n, 500 * sizeof(Node));
    n[499].value = 1, sink = n;
    free(n), delete m, delete[] a, free(z), delete w, free(c), delete[] d;
  }
  printf("ours %d plain %d\n", ours, plain);
  volatile size_t huge = SIZE_MAX / 2 - 100;
  sink = malloc(huge); // errno: the compiler assumes that malloc does not change it
  CHECK(!sink);
  sink = (Node *)calloc(huge, sizeof(Node));
  CHECK(!sink);
  volatile size_t wraps = ((size_t)1 << 60) + 1; // times the node's 16 bytes is 16
  sink = (Node *)calloc(wraps, sizeof(Node));
  CHECK(!sink);
  sink = (Node *)reallocarray(nullptr, wraps, sizeof(Node));
  CHECK(!sink);
  bool caught = false;
  try { sink = new Node[huge / 32]; } catch (std::bad_alloc &) { caught = true; }
  CHECK(caught);
  void *p = nullptr;
  CHECK(posix_memalign(&p, 3, 100) == EINVAL && posix_memalign(&p, 64, 100) == 0 && (uintptr_t)p % 64 == 0);
  free(p);
  char *s = strdup("text");
  CHECK(!strcmp(s, "text"));
  free(s);
  while (list) { Node *next = list->next; free(list), list = next; }
}
E
for abi in "" "-falloc-token-max=2 -fsanitize-alloc-token-fast-abi"; do
  # shellcheck disable=SC2086 # several flags
  $CLANGXX -O1 -fno-builtin-free -fsanitize=alloc-token $abi tokens.cpp $(linked) -o tokens 2>log || { cat log; fail "does not compile: $abi"; }
  nm -u tokens | grep '__alloc_token_' >/dev/null || fail "the compiler inserted no token: $abi"
  for how in guest preload; do
    case $how in guest) with= ;; preload) with=$PRELOAD ;; esac
    LD_PRELOAD=$with expect_status 0 ./tokens
    expect_match out '^ours 5000 plain 2000$'
    LD_PRELOAD=$with SMALLOC_CONF=heap:off expect_status 0 ./tokens
    expect_match out '^ours 0 plain 2000$'
  done
done

build hot.cpp $(linked) <<'E'
#include "runtime_sites.h"
#include <new>
enum class __hot_cold_t : uint8_t;
void *operator new(size_t, __hot_cold_t);
void *operator new[](size_t, __hot_cold_t);
void *operator new(size_t, const std::nothrow_t &, __hot_cold_t) noexcept;
void *operator new[](size_t, const std::nothrow_t &, __hot_cold_t) noexcept;
void *operator new(size_t, std::align_val_t, __hot_cold_t);
void *operator new[](size_t, std::align_val_t, __hot_cold_t);
void *operator new(size_t, std::align_val_t, const std::nothrow_t &, __hot_cold_t) noexcept;
void *operator new[](size_t, std::align_val_t, const std::nothrow_t &, __hot_cold_t) noexcept;
static int count(int temperature) {
  auto t = static_cast<__hot_cold_t>(temperature);
  auto a = std::align_val_t(128);
  void *p[] = {operator new(100, t), operator new[](100, t), operator new(100, std::nothrow, t), operator new[](100, std::nothrow, t),
               operator new(100, a, t), operator new[](100, a, t), operator new(100, a, std::nothrow, t), operator new[](100, a, std::nothrow, t)};
  int n = 0;
  for (int i = 0; i < 8; i++) {
    CHECK(p[i] && (i < 4 || (uintptr_t)p[i] % 128 == 0));
    memset(p[i], 1, 100);
    n += ours(p[i]);
  }
  for (int i = 0; i < 4; i++) operator delete(p[i]);
  for (int i = 4; i < 8; i++) operator delete(p[i], a);
  return n;
}
int main() {
  for (int i = 0; i < 400000; i++) CHECK(operator new(100, static_cast<__hot_cold_t>(254))); // 40 MB
  printf("hot %d notcold %d cold %d\n", count(254), count(128), count(1));
  volatile size_t huge = SIZE_MAX / 2 - 100;
  const int all[] = {1, 128, 254};
  for (int t : all) {
    bool caught = false;
    try { CHECK(!operator new(huge, std::nothrow, static_cast<__hot_cold_t>(t))); CHECK(operator new(huge, static_cast<__hot_cold_t>(t))); }
    catch (std::bad_alloc &) { caught = true; }
    CHECK(caught);
  }
}
E
expect_status 0 ./hot
expect_match out '^hot 8 notcold 0 cold 0$'
# Both hints at once, by the names that LLVM's AllocToken pass uses: the token's number as prefix,
# or as last argument.
for library in "$LIB" "$PRELOAD"; do
  nm -D --defined-only "$library" | sed -n 's/.* \(__alloc_token_.*hot_cold_t\)$/\1/p' | sort >names
  for form in _Znwm _Znam _ZnwmRKSt9nothrow_t _ZnamRKSt9nothrow_t _ZnwmSt11align_val_t _ZnamSt11align_val_t \
    _ZnwmSt11align_val_tRKSt9nothrow_t _ZnamSt11align_val_tRKSt9nothrow_t; do
    for token in "" 0_ 1_; do
      grep -qx "__alloc_token_$token${form}12__hot_cold_t" names || fail "${library##*/}: no __alloc_token_$token${form}12__hot_cold_t"
    done
  done
done
# An allocator with malloc and free only, in front of libsmalloc: it serves cold objects, and gets
# them at delete.
cat >front.c <<'E'
#include <stdlib.h>
static char memory[16 << 20];
static size_t used;
void *malloc(size_t n) {
  char *p = memory + used + 16;
  used += (n + 31) & ~(size_t)15;
  return used < sizeof memory ? p : NULL;
}
void free(void *p) { if (p && !((char *)p > memory && (char *)p < memory + sizeof memory)) abort(); }
E
$CC -O1 -fno-builtin -shared -fPIC front.c -o libfront.so || fail "the allocator in front does not compile"
build cold.cpp $(linked) <<'E'
#include <cstddef>
#include <cstdint>
#include <new>
enum class __hot_cold_t : uint8_t;
void *operator new(size_t, __hot_cold_t);
int main() {
  for (int i = 0; i < 100; i++) {
    void *p = operator new(100, static_cast<__hot_cold_t>(1));
    operator delete(p);
  }
}
E
expect_status 0 env LD_PRELOAD="$PWD/libfront.so $PRELOAD" ./cold
LD_PRELOAD=$PRELOAD expect_status 0 ./hot
expect_match out '^hot 8 notcold 0 cold 0$'
LD_PRELOAD=$PRELOAD SMALLOC_CONF=heap:superpage expect_status 0 ./hot
expect_match out '^hot 8 notcold 8 cold 8$' # cold ones in the heap on base pages
SMALLOC_CONF=heap:off expect_status 0 ./hot
expect_match out '^hot 0 notcold 0 cold 0$'
