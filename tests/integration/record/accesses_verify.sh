#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Instrumenting the inputs of the plugin's other tests gives valid IR: the whole pipeline at each
# level, each pass verified. C++ with exceptions, Fortran and LTO run as without instrumentation.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
OPT=$(command -v opt-22 || command -v /usr/lib/llvm-22/bin/opt || true)
[ -n "$OPT" ] || skip "no opt"
tried=0
for file in "$SMALLOC_SOURCE"/tests/lit/*/*.ll; do
  "$OPT" -passes=verify -disable-output "$file" 2>/dev/null || continue # no complete IR: a part of a test
  tried=$((tried + 1))
  for passes in smalloc-accesses 'default<O2>'; do
    timeout 120 "$OPT" -load-pass-plugin="$PLUGIN" -smalloc-machine=zen4 -smalloc-profile-generate -passes="$passes" -verify-each \
      -disable-output "$file" >log 2>&1 || { head -50 log >&2; fail "$passes: $file"; }
  done
done
[ "$tried" -ge 50 ] || fail "only $tried files"
for file in "$SMALLOC_SOURCE"/tests/lit/motion/*.c "$SMALLOC_SOURCE"/tests/lit/cxx/*.cpp "$SMALLOC_SOURCE"/benchmarks/kernels/*.c*; do
  compiler=$CLANG
  case $file in *.cpp) compiler=$CLANGXX ;; esac
  for level in -O1 -O3; do
    "$compiler" $level -w -Xclang -llvm-verify-each -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate -c "$file" -o t.o >log 2>&1 && continue
    # Some need a processor other than the compiler's default.
    ! "$compiler" $level -w -c "$file" -o t.o 2>/dev/null || { head -50 log >&2; fail "$level: $file"; }
  done
done
cat >e.cpp <<'C'
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>
struct Guard {
  std::vector<int> &v;
  ~Guard() { for (int &x : v) x++; }
};
static long walk(const std::map<int, std::string> &m, std::vector<int> &v, int limit) {
  Guard guard{v};
  long sum = 0;
  for (const auto &[key, text] : m) {
    if (key == limit)
      throw std::runtime_error(text);
    sum += static_cast<long>(text.size()) + v[static_cast<size_t>(key)];
  }
  return sum;
}
int main() {
  std::map<int, std::string> m;
  std::vector<int> v(2000, 1);
  for (int i = 0; i < 2000; i++)
    m[i] = std::string(static_cast<size_t>(i % 40), 'x');
  long sum = 0;
  int caught = 0;
  for (int round = 0; round < 50; round++)
    try {
      sum += walk(m, v, round % 2 ? 3000 : 1500);
    } catch (const std::runtime_error &e) { caught += static_cast<int>(std::string(e.what()).size()); }
  std::printf("%ld %d %d\n", sum, caught, v[7]);
}
C
"$CLANGXX" -O2 -std=c++17 e.cpp -o reference
expect_status 0 ./reference
mv out want
runs_recorded() { # PROGRAM
  expect_status 0 "$1"
  cmp want out || fail "$1 prints something else"
  [ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || return 0
  expect_status 0 "$SMALLOC" record -q --rate 1 -o "$1.trace" -- "$1"
  cmp want out || fail "$1, recorded, prints something else"
  expect_status 0 "$SMALLOC" trace show "$1.trace" --json
  json_is out 'd["complete"] and d["events"]["access_runs"] > 100'
}
for level in -O1 -O2 -O3; do
  quietly "$CLANGXX" $level -std=c++17 -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate e.cpp -o ./exceptions
  runs_recorded ./exceptions
done
for lto in -flto -flto=thin; do
  quietly "$CLANGXX" -O2 -std=c++17 $lto -fuse-ld=lld -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate e.cpp -o ./with_lto
  runs_recorded ./with_lto
done
for linker in bfd gold lld; do
  for pie in pie no-pie; do
    quietly "$CLANGXX" -O2 -std=c++17 -f$pie -$pie -fuse-ld=$linker -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate e.cpp -o ./linked
    runs_recorded ./linked
  done
done
if command -v "$FLANG" >/dev/null; then
  cat >t.f90 <<'F'
program t
  integer, parameter :: n = 700
  real(8), allocatable :: a(:, :)
  real(8) :: s
  allocate (a(n, n))
  do j = 1, n
    do i = 1, n
      a(i, j) = mod(i + j, 7)
    end do
  end do
  s = 0
  do i = 1, n
    do j = 1, n
      s = s + a(i, j)
    end do
  end do
  print '(i0)', int(s)
end program t
F
  "$FLANG" -O2 t.f90 -o reference
  expect_status 0 ./reference
  mv out want
  quietly "$FLANG" -O2 -fpass-plugin="$PLUGIN" -mllvm -smalloc-profile-generate t.f90 -o ./fortran
  runs_recorded ./fortran
fi
