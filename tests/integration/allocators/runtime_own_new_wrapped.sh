#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program's own operator new and delete keep their objects. This includes objects from a function
# that returns fresh memory, whose calls are sites of their own, and objects after the agent has
# selected lines again. Linked, preloaded, static, with LTO.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
cat >own.cpp <<'C'
#include <cstdio>
#include <cstdlib>
#include <new>
// A mark before each object. Objects of any other allocator have none.
void *operator new(std::size_t n) {
  long *p = (long *)malloc(n + 16);
  if (!p)
    throw std::bad_alloc();
  *p = 0x600d;
  return p + 2;
}
void operator delete(void *p) noexcept {
  long *marked = (long *)p - 2;
  if (p && *marked != 0x600d) {
    std::fputs("not made by the program's operator new\n", stderr);
    std::abort();
  }
  std::free(p ? marked : nullptr);
}
void operator delete(void *p, std::size_t) noexcept { operator delete(p); }
C
cat >lists.cpp <<'C'
#include <cstdio>
#include <cstdlib>
#include <cstring>
struct Node { Node *next; long v[6]; };
__attribute__((noinline)) Node *make() { return new Node; }
static long listed(Node *(*of)()) {
  Node *head = nullptr;
  long sum = 0;
  for (long i = 0; i < 600000; i++) {
    Node *n = of ? of() : make();
    n->v[0] = i;
    n->next = head;
    head = n;
  }
  for (Node *n = head; n; n = n->next)
    sum += n->v[0];
  while (head) {
    Node *next = head->next;
    delete head;
    head = next;
  }
  return sum;
}
int main(int argc, char **argv) {
  std::printf("%ld\n", listed(nullptr));
  std::size_t bytes = (std::size_t)std::atoi(argc > 1 ? argv[1] : "1") << 20;
  for (int round = 1; round < 4; round++) { // big objects come and go: the agent selects lines again
    char *big = (char *)std::malloc(bytes);
    std::memset(big, round, bytes);
    long sum = 0;
    for (std::size_t at = 0; at < bytes; at += 4096)
      sum += big[at];
    for (int k = 0; k < 20; k++) {
      char *half = (char *)std::malloc(bytes / 2);
      std::memset(half, k, bytes / 2);
      std::free(half);
    }
    std::printf("%ld %ld\n", sum, listed(nullptr));
    std::free(big);
  }
}
C
"$CLANGXX" -O2 own.cpp lists.cpp -o plain
./plain 100 >expected
lib=$(dirname "$LIB")
ours=("$CLANGXX" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-rewrite=all)
link=(-L"$lib" -Wl,--no-as-needed -lsmalloc -Wl,-rpath,"$lib")
runs_as_plain() { # WHAT [VARIABLE=VALUE...] PROGRAM
  expect_status 0 env "${@:2}" 100
  cmp -s out expected || fail "$1: another output"
}
quietly "${ours[@]}" own.cpp lists.cpp -o linked "${link[@]}"
quietly "${ours[@]}" own.cpp lists.cpp -o unlinked
for heap in guest auto superpage migrate; do
  runs_as_plain "heap:$heap" SMALLOC_CONF=heap:$heap ./linked
  runs_as_plain "preloaded, heap:$heap" LD_PRELOAD="$LIB" SMALLOC_CONF=heap:$heap ./unlinked
done
quietly "${ours[@]}" -fPIC -shared own.cpp -o libown.so
quietly "${ours[@]}" lists.cpp -o apart -L. -lown -Wl,-rpath,"$PWD" "${link[@]}"
runs_as_plain "operators of a library" ./apart
if [ -e "$lib/libsmalloc.a" ]; then
  quietly "${ours[@]}" -static own.cpp lists.cpp -o static "$lib/libsmalloc.a" -pthread
  runs_as_plain static ./static
fi
# Every site has a directive, and the big ones do not fit at first. The agent takes them once there
# is room.
expect_status 0 "$SMALLOC" sites --json linked
python3 - >all.directives <<'PY'
import json
print("# smalloc.directives/1 machine=zen5")
for site in json.load(open("out"))["sites"]:
    print(f"{site['id']} page=2m rank=1 pmb=90 superpages={40 if site['callee'] == 'malloc' else 2} numa=- # {site['callee']}")
PY
runs_as_plain "the agent decided anew" SMALLOC_CONF="directives:$PWD/all.directives,validate:off,budget:60m" ./linked
