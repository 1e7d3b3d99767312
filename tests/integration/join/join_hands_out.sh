#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A function of one unit returns arrays through an argument. Callers in two other units read one at
# random and stream the other. Each call is a site with a decision for its own array. A function of
# the same form that allocates nothing is no site, and works. The same holds for a class's operator
# new, an allocator of the program's own, and a memory resource of std::pmr, also the standard one;
# without and with LTO.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
cat >all.hpp <<'C'
#include <cstddef>
#include <cstdlib>
#include <memory_resource>
#include <new>
#include <vector>
int buffer(double **out, size_t n);
bool next(const int **at, size_t n);
double hot(const int *at, size_t n);
double cold(size_t n);
template <class T> struct Aligned {
  using value_type = T;
  Aligned() = default;
  template <class U> Aligned(const Aligned<U> &) {}
  T *allocate(size_t n) { return static_cast<T *>(std::aligned_alloc(64, n * sizeof(T))); }
  void deallocate(T *p, size_t) { std::free(p); }
  template <class U> bool operator==(const Aligned<U> &) const { return true; }
};
struct Tile {
  double cells[1 << 13];
  static void *operator new(size_t bytes);
  static void operator delete(void *p);
};
struct Arena : std::pmr::memory_resource {
  void *do_allocate(size_t bytes, size_t alignment) override;
  void do_deallocate(void *p, size_t, size_t) override;
  bool do_is_equal(const memory_resource &o) const noexcept override { return this == &o; }
};
struct Sim {
  Sim(size_t n, std::pmr::memory_resource *r);
  double step(const int *at, size_t n) const;
  std::vector<double, Aligned<double>> field, log;
  std::pmr::vector<double> mass;
  std::vector<Tile *> tiles;
};
C
cat >a.cpp <<'C'
#include "all.hpp"
int buffer(double **out, size_t n) {
  double *p = static_cast<double *>(malloc(n * sizeof *p));
  if (!p)
    return -1;
  *out = p;
  return 0;
}
bool next(const int **at, size_t n) { return n > 1 ? *at += 1, true : false; }
void *Tile::operator new(size_t bytes) { return std::malloc(bytes); } // tile
void Tile::operator delete(void *p) { std::free(p); }
void *Arena::do_allocate(size_t bytes, size_t) { return std::aligned_alloc(64, (bytes + 63) / 64 * 64); } // arena
void Arena::do_deallocate(void *p, size_t, size_t) { std::free(p); }
Sim::Sim(size_t n, std::pmr::memory_resource *r)
    : field(n), // picked
      log(n),   // walked
      mass(n, r) {
  for (int i = 0; i < 512; i++)
    tiles.push_back(new Tile());
}
C
cat >b.cpp <<'C'
#include "all.hpp"
double hot(const int *at, size_t n) {
  double *v, s = 0;
  if (buffer(&v, n)) // picked
    return 0;
  for (size_t i = 0; i < n; i++)
    v[i] = double(i);
  for (int t = 0; t < 9; t++)
    for (size_t i = 0; i < n; i++)
      s += v[at[i]];
  free(v);
  return s;
}
double Sim::step(const int *at, size_t n) const {
  double s = 0;
  for (size_t i = 0; i < n; i++)
    s += field[at[i]] + mass[at[i]] + tiles[at[i] & 511]->cells[at[i] & 8191] + 1;
  for (double v : log)
    s += v;
  return s;
}
C
cat >c.cpp <<'C'
#include "all.hpp"
#include <cstdio>
double cold(size_t n) {
  double *v, s = 0;
  if (buffer(&v, n)) // walked
    return 0;
  for (size_t i = 0; i < n; i += 1024)
    v[i] = 1;
  for (size_t i = 0; i < n; i++)
    s += v[i] > 0;
  free(v);
  return s;
}
int main(int argc, char **argv) {
  size_t n = size_t{1} << 21;
  std::vector<int> at(n);
  unsigned x = 1;
  for (int &k : at)
    k = int((x = x * 1664525 + 1013904223) % n);
  const int *p = at.data();
  Arena arena;
  Sim sim(n, argc > 1 ? std::pmr::new_delete_resource() : &arena);
  double s = hot(p, n) + cold(n) + sim.step(p, n);
  int steps = 0;
  for (size_t left = n; next(&p, left); left--)
    steps++;
  std::printf("%.0f %d %s\n", s, steps, argv[argc > 1]);
  return 0;
}
C
for lto in "" -flto; do
  for unit in a b c; do
    quietly "$CLANG" -x c++ -std=c++20 -O2 -g1 ${lto:+"$lto"} -fplugin="$PLUGIN" -fplugin-arg-smalloc-machine=zen4 \
      -fplugin-arg-smalloc-first-touch=off -c $unit.cpp -o $unit.o
  done
  quietly "$CLANG" ${lto:+"$lto" -fuse-ld=lld} a.o b.o c.o -o app -lstdc++ -lm
  expect_status 0 "$SMALLOC" sites --json app
  python3 - "$lto" <<'PY'
import json, sys

lines = {unit: open(unit).read().split("\n") for unit in ("a.cpp", "b.cpp", "c.cpp")}
said = {}
for site in json.load(open("out"))["sites"]:
    frames = [(site["file"], site["line"])] + [tuple(f.rsplit(" ", 1)[1].rsplit(":", 1)) for f in site["context"]]
    for file, line in frames:
        text = lines[file][int(line) - 1] if file in lines else ""
        if "// " in text:
            said.setdefault(text.split("// ")[1] + " " + text.split("//")[0].strip(), []).append(site["why"])
    assert site["callee"] != "_Z4nextPPKim", "no allocation is a site: " + site["why"]
if not sys.argv[1]:
    for where, whys in said.items():
        if where.startswith(("picked ", "tile ")):
            assert any("picked at random" in why for why in whys), (where, whys)
        elif where.startswith("walked "):
            assert not any("picked at random" in why for why in whys), (where, whys)
    names = sorted(where.split(" ")[0] for where in said)
    assert names == ["arena", "picked", "picked", "tile", "walked", "walked"], names
PY
  for resource in "" standard; do
    expect_status 0 ./app ${resource:+"$resource"}
    cp out plain
    expect_status 0 env LD_PRELOAD="$LIB" SMALLOC_CONF=stats:exit ./app ${resource:+"$resource"}
    cmp -s out plain || fail "another result: $(cat plain out)"
    expect_match err ' 16.0 MiB requested, .* in hot'
    expect_match err ' 16.0 MiB requested, .* in cold'
  done
done
