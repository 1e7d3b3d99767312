#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Allocation inside try, in constructors and during unwinding: C++ exceptions and bad_alloc still
# work.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
cat >e.cpp <<'C'
#include <cstdio>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>
struct Part {
  std::vector<double> data;
  explicit Part(std::size_t n, bool bad) : data(n * n, 1.0) { if (bad) throw std::runtime_error("part"); }
};
__attribute__((noinline)) double columns(const std::vector<double> &v, std::size_t n) {
  double s = 0;
  for (std::size_t j = 0; j < n; j++) for (std::size_t i = 0; i < n; i++) s += v[i * n + j];
  return s;
}
static int handled;
static void handler() { handled++; std::set_new_handler(nullptr); }
int main() {
  double sum = 0;
  int caught = 0;
  for (int round = 0; round < 20; round++) {
    try {
      auto first = std::make_unique<Part>(512, false);
      auto second = std::make_unique<Part>(512, round % 2);
      sum += columns(first->data, 512) + columns(second->data, 512);
    } catch (const std::runtime_error &e) { caught++; }
  }
  std::set_new_handler(handler);
  volatile std::size_t enormous = SIZE_MAX / 4;
  try { char *p = new char[enormous]; p[0] = 1; std::printf("%p\n", (void *)p); } catch (const std::bad_alloc &) { caught++; }
  char *volatile none = new (std::nothrow) char[enormous];
  if (!none) caught++;
  std::printf("sum %.0f caught %d handled %d\n", sum, caught, handled);
}
C
for opt in -O0 -O1 -O2 -O3; do
  quietly "$CLANGXX" $opt -fplugin="$PLUGIN" e.cpp -o without
  expect_status 0 ./without
  expect_match out '^sum 5242880 caught 12 handled 1$'
  quietly "$CLANGXX" $opt -fplugin="$PLUGIN" e.cpp "${LINK_LIBRARY[@]}" -o with
  expect_status 0 ./with
  expect_match out '^sum 5242880 caught 12 handled 1$'
done
# C compiled with -fexceptions, and C++ without exceptions.
write_gather
quietly "$CLANG" -O2 -fexceptions -fplugin="$PLUGIN" gather.c "${LINK_LIBRARY[@]}" -o with
runs_huge ./with
printf '#include <cstdio>\n#include <vector>\nint main() { std::vector<double> v(1 << 20, 1.0); double s = 0; for (unsigned j = 0; j < 512; j++) for (std::size_t i = j; i < v.size(); i += 512) s += v[i]; std::printf("%%.0f\\n", s); }\n' >noexcept.cpp
quietly "$CLANGXX" -O2 -fno-exceptions -fno-rtti -fplugin="$PLUGIN" noexcept.cpp "${LINK_LIBRARY[@]}" -o with
expect_status 0 ./with
expect_match out '^1048576$'
end_thp
