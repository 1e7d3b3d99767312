#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Every form of operator delete, free_sized and free_aligned_sized frees objects of libsmalloc and
# forwards foreign pointers.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
need_thp
build t.cpp $(linked) <<'E'
#include "runtime_sites.h"
#include <new>
TEST_SITE(site, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
extern "C" void free_sized(void *, size_t);
extern "C" void free_aligned_sized(void *, size_t, size_t);
static uint64_t live() {
  smalloc_statistics s = {};
  s.bytes = sizeof s;
  smalloc_stats(&s);
  return s.big_objects_now;
}
template <class F> void check(F f, void *foreign) {
  void *p = site_malloc(&site, 8 * MIB);
  CHECK(ours(p) && live() == 1);
  memset(p, 1, 8 * MIB);
  f(p);
  CHECK(live() == 0);
  f(foreign);
}
int main() {
  auto A = std::align_val_t(64);
  auto N = std::nothrow;
  auto n = [] { return operator new(100); };
  auto a = [=] { return operator new(100, A); };
  check([=](void *p) { operator delete(p); }, n());
  check([=](void *p) { operator delete[](p); }, n());
  check([=](void *p) { operator delete(p, size_t(100)); }, n());
  check([=](void *p) { operator delete[](p, size_t(100)); }, n());
  check([=](void *p) { operator delete(p, A); }, a());
  check([=](void *p) { operator delete[](p, A); }, a());
  check([=](void *p) { operator delete(p, size_t(100), A); }, a());
  check([=](void *p) { operator delete[](p, size_t(100), A); }, a());
  check([=](void *p) { operator delete(p, N); }, n());
  check([=](void *p) { operator delete[](p, N); }, n());
  check([=](void *p) { operator delete(p, A, N); }, a());
  check([=](void *p) { operator delete[](p, A, N); }, a());
  check([=](void *p) { free(p); }, malloc(100));
  check([=](void *p) { free_sized(p, ours(p) ? 8 * MIB : 100); }, malloc(100));
  check([=](void *p) { free_aligned_sized(p, 64, ours(p) ? 8 * MIB : 128); }, aligned_alloc(64, 128));
  puts("done");
}
E
expect_status 0 ./t
expect_match out '^done$'
