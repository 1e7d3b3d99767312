# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Memory that a program maps itself, and memory that flang's runtime allocates for it, is recorded
# under its site: mmap, trimmed to an alignment, moved by mremap, unmapped; ALLOCATE with STAT=, a
# pointer, allocation by assignment.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
cat >mapped.c <<'C'
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
enum { kMiB = 1 << 20 };
__attribute__((noinline)) static char *whole(size_t bytes) { return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
__attribute__((noinline)) static char *trimmed(size_t bytes, size_t alignment) { /* maps too much, and unmaps both ends */
  char *p = mmap(NULL, bytes + alignment, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const size_t front = (-(uintptr_t)p & (alignment - 1)) + 4096; /* never zero */
  munmap(p, front);
  munmap(p + front + bytes - 4096, alignment - front + 4096);
  return p + front;
}
__attribute__((noinline)) static char *grown(size_t bytes) { return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
__attribute__((noinline)) static long walk(const char *p, size_t bytes, unsigned seed) {
  long s = 0;
  for (size_t i = 0; i < bytes / 8; i++) {
    seed = seed * 1664525 + 1013904223;
    s += p[(uint64_t)seed * bytes >> 32];
  }
  return s;
}
int main(void) {
  long s = 0;
  for (int i = 0; i < 3; i++) { /* one at a time is live */
    char *a = whole(24 * kMiB);
    s += walk(a, 24 * kMiB, 1);
    munmap(a, 24 * kMiB);
  }
  char *b = trimmed(40 * kMiB, 64 * kMiB);
  s += walk(b, 40 * kMiB - 4096, 2);
  char *c = grown(8 * kMiB);
  s += walk(c, 8 * kMiB, 3);
  c = mremap(c, 8 * kMiB, 32 * kMiB, MREMAP_MAYMOVE);
  s += walk(c, 32 * kMiB, 4);
  munmap(b, 40 * kMiB - 4096);
  munmap(c, 16 * kMiB);
  munmap(c + 16 * kMiB, 16 * kMiB);
  printf("%ld\n", s);
  return 0;
}
C
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate mapped.c -o mapped
expect_status 0 "$SMALLOC" record -q --rate 1 -o mapped.trace -- ./mapped
expect_match out '^0$'
expect_status 0 "$SMALLOC" trace show mapped.trace --json
json_is out '104 << 20 <= d["totals"]["peak_live_bytes"] < 105 << 20' # before it is trimmed
json_is out 'd["events"]["frees"] >= 5'
expect_status 0 "$SMALLOC" analyze mapped.trace --json
python3 - <<'PY' || fail "what is live of a mapping's site"
import json
sites = [m["category"] | m for m in json.load(open("out"))["mappings"]]
live = sorted(s["footprint_bytes"] for s in sites if s["file"] == "mapped.c" and s["steerable"])
assert live == [24 << 20, 32 << 20, (40 << 20) - 4096], live
PY

command -v "$FLANG" >/dev/null || exit 0
cat >arrays.f90 <<'F'
program arrays
  implicit none
  real(8), allocatable :: a(:), b(:)
  real(8), pointer :: p(:)
  integer :: status, i, n
  real(8) :: s
  n = 1000000 + command_argument_count()
  allocate (a(n), stat=status)
  if (status /= 0) stop 1
  allocate (p(n + 1000))
  a = 1
  p = 2
  s = 0
  do i = 1, n
    s = s + p(mod(i * 7919, n) + 1)
  end do
  call assign(b, a)
  print *, s + b(1) + b(n)
  deallocate (p)
contains
  subroutine assign(to, from)
    real(8), allocatable, intent(inout) :: to(:)
    real(8), intent(in) :: from(:)
    to = from
  end subroutine
end program
F
quietly "$FLANG" -O2 -fpass-plugin="$PLUGIN" -mllvm -smalloc-profile-generate arrays.f90 -o arrays
expect_status 0 "$SMALLOC" sites arrays --json
cp out sites.json
expect_status 0 "$SMALLOC" record -q --rate 1 -o arrays.trace -- ./arrays
expect_status 0 "$SMALLOC" analyze arrays.trace --json
python3 - <<'PY' || fail "a site of Fortran is not in the trace"
import json
wanted = {s["id"]: s["callee"] for s in json.load(open("sites.json"))["sites"] if s["rewritten"]}
found = {m["category"]["id"] for m in json.load(open("out"))["mappings"] if m["footprint_bytes"] >= 8000000 and m["steerable"]}
print(wanted, found)
assert len(wanted) == 3 and set(wanted) <= found
PY
