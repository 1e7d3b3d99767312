#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The C++ interface: an allocator for containers and a polymorphic memory resource, on superpages.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
need_thp
build t.cpp $(linked) <<'E'
#include "runtime_sites.h"
#include <smalloc/smalloc.hpp>
#include <map>
#include <vector>
int main() {
  std::vector<double, smalloc::allocator<double>> v(8 << 20, 1.0);
  CHECK(smalloc_is_ours(v.data()) && smaps(v.data(), 64 * MIB, "AnonHugePages:") >= 60 * MIB);
  std::pmr::vector<int> w(4 << 20, 7, smalloc::memory_resource(SMALLOC_BASE));
  CHECK(smalloc_is_ours(w.data()) && smaps(w.data(), 16 * MIB, "AnonHugePages:") == 0);
  std::map<int, int, std::less<int>, smalloc::allocator<std::pair<const int, int>, SMALLOC_SUPERPAGE>> m;
  for (int i = 0; i < 100000; i++) m[i] = i;
  CHECK(smalloc_is_ours(&m.begin()->second) && m.at(4711) == 4711);
  struct alignas(256) Wide { char c[256]; };
  std::vector<Wide, smalloc::allocator<Wide>> wide(100);
  CHECK(reinterpret_cast<uintptr_t>(wide.data()) % 256 == 0);
  CHECK(*smalloc::memory_resource(SMALLOC_BASE) != *smalloc::memory_resource(SMALLOC_BOTH));
  void *p = smalloc(100, SMALLOC_BOTH), *q = scalloc(3, 3 * MIB, SMALLOC_SUPERPAGE);
  CHECK(p && q && static_cast<char *>(q)[9 * MIB - 1] == 0);
  p = srealloc(p, 5 * MIB);
  sfree(p);
  free(q);
  sfree(malloc(10));
  errno = 0;
  CHECK(smemalign(24, 100, SMALLOC_BOTH) == nullptr && errno == EINVAL);
  CHECK(scalloc(~size_t(0), 2, SMALLOC_BOTH) == nullptr && errno == ENOMEM);
  try {
    p = smalloc::allocator<double>().allocate((size_t(1) << 61) + 1); // times 8 is 8
    CHECK(!"a size that wraps around");
  } catch (std::bad_alloc &) {
  }
  CHECK(smalloc_usable_size(nullptr) == 0);
  puts(smalloc_version());
}
E
expect_status 0 ./t
expect_match out '^[0-9]+\.[0-9]+\.[0-9]+$'
SMALLOC_CONF=heap:off expect_status 1 ./t
# Without exceptions and run-time type information, too.
build bare.cpp -fno-rtti -fno-exceptions -Wall -Wextra -Werror $(linked) <<'E'
#include <smalloc/smalloc.hpp>
#include <vector>
int main() {
  std::vector<double, smalloc::allocator<double>> v(1 << 20, 1.0);
  std::pmr::vector<int> w(1 << 20, 2, smalloc::memory_resource(SMALLOC_SUPERPAGE));
  std::pmr::vector<int> x(w.begin(), w.end(), smalloc::memory_resource(SMALLOC_SUPERPAGE));
  x = std::move(w); /* compares the resources */
  return !(v[7] == 1.0 && x[9] == 2 && smalloc_is_ours(v.data()));
}
E
expect_status 0 ./bare
# The program's own calloc answers where there are no heaps, and touches nothing of what the system gives zeroed.
build untouched.cpp $(linked) <<'E'
#include "runtime_sites.h"
int main() {
  const size_t before = status_kb("VmRSS:");
  char *p = static_cast<char *>(scalloc(512, MIB, SMALLOC_SUPERPAGE));
  CHECK(p && !smalloc_is_ours(p) && p[300 * MIB] == 0);
  CHECK(status_kb("VmRSS:") < before + 4096);
  sfree(p);
}
E
expect_status 0 env SMALLOC_CONF=heap:off ./untouched
