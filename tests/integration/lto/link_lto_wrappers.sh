#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Wrappers of any depth under LTO: the compiler decides each call of one xmalloc in other units
# separately. C++ programs with exceptions, inline functions of several units and containers behave
# as without the plugin.
. "$(dirname "$0")/../support/lib.sh"
export SMALLOC_CONF=heap:guest,populate:always # only the decisions; heap:auto also gives superpages to filled objects
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
need_linker lld
source=$SMALLOC_SOURCE/tests/integration/fixtures/wrappers.c
load=(-fuse-ld=lld -Wl,-mllvm,-load="$PLUGIN" -Wl,--load-pass-plugin="$PLUGIN")
kib() { sed -n "s/$1 huge_kib //p" out; }
for unit in 0 1 2 3; do "$CLANG" -O2 -DUNIT=$unit -c "$source" -o plain$unit.o; done
"$CLANG" plain?.o -o plain
./plain >expected
for kind in full thin; do
  for unit in 0 1 2 3; do
    quietly "$CLANG" -O2 -flto=$kind -fplugin="$PLUGIN" -fplugin-arg-smalloc-machine=zen4 -DUNIT=$unit -c "$source" -o $kind$unit.o
    quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-machine=zen4 -DUNIT=$unit -c "$source" -o native$unit.o
  done
  quietly "$CLANG" -O2 -flto=$kind "${load[@]}" $kind?.o -o program
  expect_status 0 "$SMALLOC" sites --json program
  KIND=$kind python3 - <<'PY'
import json, os
sites = json.load(open("out"))["sites"]
mine = [s for s in sites if s["callee"] == "vector_new"]
hot = [s for s in mine if s["pattern"] == "scattered"]
cold = [s for s in mine if s["pattern"] == "streaming"]
assert len(hot) == 1 and hot[0]["decision"] == "runtime" and hot[0]["rewritten"], mine
assert not hot[0]["joined"] or os.environ["KIND"] == "thin", hot
assert len(cold) == 1, mine
PY
  # Each unit may be an ordinary object.
  for native in none 0 1 2 3; do
    objects=("$kind"?.o)
    [ $native = none ] || objects[native]=native$native.o
    quietly "$CLANG" -O2 -flto=$kind "${load[@]}" "${objects[@]}" -o program
    expect_status 0 ./program
    cmp -s <(grep '^sum' out) <(grep '^sum' expected) || fail "another sum ($kind, native unit: $native)"
    expect_status 0 env LD_PRELOAD="$LIB" ./program
    cmp -s <(grep '^sum' out) <(grep '^sum' expected) || fail "another sum with the library ($kind, native unit: $native)"
    case $(thp_mode) in madvise | always) ;; *) continue ;; esac
    [ "$(kib hot)" -ge 2048 ] || { cat out >&2; fail "the hot table is not on superpages ($kind, native unit: $native)"; }
    [ "$(kib cold)" = 0 ] || { cat out >&2; fail "the cold buffer is on superpages ($kind, native unit: $native)"; }
  done
done

cat >shared.h <<'C'
#include <map>
#include <stdexcept>
#include <string>
#include <vector>
struct Table {
  std::vector<double> cells;
  explicit Table(long n) : cells(n) {}
  double pick(const std::vector<int> &at) const {
    double s = 0;
    for (int i : at)
      s += cells.at(i);
    return s;
  }
};
template <class T> T *fresh(long n) { return new T[n]; } // the same in every unit
inline double *numbers(long n) { return fresh<double>(n); }
double use(const Table &t, const std::vector<int> &at);
std::map<std::string, long> count(long n);
C
cat >one.cpp <<'C'
#include "shared.h"
#include <cstdio>
static void *raw(unsigned long n) { return ::operator new(n); }
int main() {
  Table t(1 << 18);
  std::vector<int> at;
  for (int i = 0; i < 1 << 18; i++)
    at.push_back(i * 7919 % (1 << 18)), t.cells[i] = i % 5;
  double *d = numbers(1 << 16);
  for (int i = 0; i < 1 << 16; i++)
    d[i] = i;
  double s = use(t, at) + d[77];
  delete[] d;
  ::operator delete(raw(100));
  at[5] = 1 << 20;
  try {
    s += use(t, at);
  } catch (const std::out_of_range &) {
    s += 1000;
  }
  auto words = count(1000);
  std::printf("%.0f %zu %ld\n", s, words.size(), words["7"]);
}
C
cat >two.cpp <<'C'
#include "shared.h"
double use(const Table &t, const std::vector<int> &at) {
  double *d = numbers(at.size() + 1);
  for (unsigned long i = 0; i <= at.size(); i++)
    d[i] = 1;
  double s = t.pick(at) + d[at.size()];
  delete[] d;
  return s;
}
std::map<std::string, long> count(long n) {
  std::map<std::string, long> words;
  for (long i = 0; i < n; i++)
    words[std::to_string(i % 100)]++;
  return words;
}
C
"$CLANGXX" -O2 one.cpp two.cpp -o plain
./plain >expected
for kind in full thin; do
  for heap in guest auto superpage migrate; do
    for unit in one two; do
      quietly "$CLANGXX" -O2 -flto=$kind -fplugin="$PLUGIN" -fplugin-arg-smalloc-heap=$heap -c $unit.cpp -o $unit.o
    done
    quietly "$CLANGXX" -O2 -flto=$kind "${load[@]}" one.o two.o -o program
    expect_status 0 ./program
    cmp out expected || fail "another result ($kind, $heap)"
    expect_status 0 env LD_PRELOAD="$LIB" ./program
    cmp out expected || fail "another result with the library ($kind, $heap)"
  done
done
