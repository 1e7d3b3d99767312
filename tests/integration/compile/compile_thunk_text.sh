#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Thunks, constructors, promotion points and fill points written as assembly behave as those built as IR. A
# program defines its own entries, which overwrite every register that they may, refuse, serve,
# throw and check the stack. They print their arguments.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
[ "$(uname -m)" = x86_64 ] || skip "assembly is for x86-64"
cat >sites.cpp <<'C'
#include <cstdlib>
#include <new>
// Each call is in a function of its own: nothing is inlined, everything has a number.
#define SITE __attribute__((noinline)) extern
SITE void *by_malloc(size_t n) { return malloc(n); }
SITE void *by_calloc(size_t n, size_t of) { return calloc(n, of); }
SITE void *by_realloc(void *p, size_t n) { return realloc(p, n); }
SITE void *by_aligned(size_t a, size_t n) { return aligned_alloc(a, n); }
SITE void *by_memalign(size_t a, size_t n) { void *p = nullptr; return posix_memalign(&p, a, n) ? nullptr : p; }
SITE void *by_new(size_t n) { return ::operator new(n); }
SITE void *by_new_array(size_t n) { return ::operator new[](n); }
SITE void *by_nothrow(size_t n) { return ::operator new(n, std::nothrow); }
SITE void *by_new_aligned(size_t n, size_t a) { return ::operator new(n, std::align_val_t(a)); }
SITE void *by_aligned_nothrow(size_t n, size_t a) { return ::operator new[](n, std::align_val_t(a), std::nothrow); }
C
cat >loop.cpp <<'C'
#include <cstdlib>
// Superpages pay from a size on that is checked at the allocation.
double swept(long rows, long columns) {
  double *a = (double *)malloc(rows * columns * sizeof(double)), sum = 0;
  for (long i = 0; i < rows * columns; i++)
    a[i] = i;
  for (long j = 0; j < columns; j++)
    for (long i = 0; i < rows; i++)
      sum += a[i * columns + j];
  free(a);
  return sum;
}
double gathered(const double *a, const int *at, long n, double x, double y) {
  double sum = x;
  for (long i = 0; i < n; i++)
    sum += a[at[i]] * y;
  return sum;
}
double of_two(const double *a, const double *b, const int *at, long n) {
  double sum = 0;
  for (long i = 0; i < n; i++)
    sum += a[at[i]] * b[at[i]];
  return sum;
}
double in_rounds(const double *a, const int *at, long rounds, long n) {
  double sum = 0;
  for (long k = 0; k < rounds; k++)
    for (long i = 0; i < n; i++)
      sum += a[at[i] + k];
  return sum;
}
C
cat >fills.cpp <<'C'
double filled(double *__restrict to, long n, double x, double y) {
  for (long i = 0; i < n; i++)
    to[i] = x * i + y;
  return to[n - 1] + x;
}
double filled_in_columns(double *__restrict to, long rows, long columns, double x, double y) {
  for (long j = 0; j < columns; j++)
    for (long i = 0; i < rows; i++)
      to[i * columns + j] = x * i + y * j;
  return to[rows * columns - 1] + x;
}
double filled_side_by_side(double *const *__restrict f, double *const *__restrict g, const double *__restrict w, long n, double x, double y) {
  for (long i = 1; i < n; i++)
    for (int q = 0; q < 19; q++)
      f[q][i] = g[q][i] = w[q];
  return f[18][n - 1] + x * y;
}
C
cat >runtime.cpp <<'C'
#include "smalloc/site.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <new>
#include <stdexcept>
#include <unwind.h>
void *by_malloc(size_t), *by_calloc(size_t, size_t), *by_realloc(void *, size_t), *by_aligned(size_t, size_t),
    *by_memalign(size_t, size_t), *by_new(size_t), *by_new_array(size_t), *by_nothrow(size_t), *by_new_aligned(size_t, size_t),
    *by_aligned_nothrow(size_t, size_t);
double gathered(const double *, const int *, long, double, double), swept(long, long), of_two(const double *, const double *, const int *, long), in_rounds(const double *, const int *, long, long);
double filled(double *, long, double, double), filled_in_columns(double *, long, long, double, double);
double filled_side_by_side(double *const *, double *const *, const double *, long, double, double);
static smalloc_module *module;
static smalloc_cell *cells[32];
static int number, serves, throws;
alignas(64) static char served[4096];
static bool inMain;
int main();
static _Unwind_Reason_Code frame(_Unwind_Context *c, void *) {
  inMain |= _Unwind_FindEnclosingFunction((void *)_Unwind_GetIP(c)) == (void *)main;
  return _URC_NO_REASON;
}
static bool knownCell(smalloc_cell *cell) {
  for (int i = 0; i < number; i++)
    if (cells[i] == cell) return true;
  return false;
}
// Everything that an entry may overwrite.
#define SPOIL asm volatile("mov $-1,%%rax; mov %%rax,%%rcx; mov %%rax,%%rdx; mov %%rax,%%rsi; mov %%rax,%%rdi; mov %%rax,%%r8;" \
  "mov %%rax,%%r9; mov %%rax,%%r10; mov %%rax,%%r11" ::: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc", "memory")
static void *answer(const char *name, size_t first, size_t second, smalloc_cell *cell) {
  inMain = false;
  _Unwind_Backtrace(frame, nullptr);
  alignas(16) volatile char here[16]; // the compiler assumes an aligned stack
  printf("%s %zu %zu: cell %d stack %d back to main %d\n", name, first, second, knownCell(cell), (size_t)__builtin_frame_address(0) % 16 == 0 && (size_t)here % 16 == 0, inMain);
  if (throws) throw std::runtime_error(name);
  void *result = serves ? served : nullptr;
  SPOIL;
  return result;
}
extern "C" {
unsigned __smalloc_v1_pending;
void __smalloc_v1_register_module(smalloc_module *m) {
  module = m;
  for (const char *at = (const char *)m->sites_start; at < (const char *)m->sites_stop;) {
    const smalloc_site *site = (const smalloc_site *)at;
    if (site->cell_offset) cells[number++] = (smalloc_cell *)(at + site->cell_offset);
    at += site->record_bytes;
  }
}
void __smalloc_v1_unregister_module(smalloc_module *m) { printf("bye %d\n", m == module); fflush(stdout); }
void *__smalloc_v1_malloc(size_t n, smalloc_cell *c) { return answer("malloc", n, 0, c); }
void *__smalloc_v1_small(size_t n, smalloc_cell *c, smalloc_otherwise *otherwise, const void *argument) {
  void *p = answer("small", n, argument == &std::nothrow, c);
  return p ? p : otherwise(n, argument);
}
void *__smalloc_v1_joining(size_t n, smalloc_cell *c, smalloc_otherwise *otherwise, const void *argument) {
  void *p = answer("joining", n, argument == &std::nothrow, c);
  return p ? p : otherwise(n, argument);
}
void *__smalloc_v1_calloc(size_t n, size_t of, smalloc_cell *c) { return answer("calloc", n, of, c); }
void *__smalloc_v1_realloc(void *p, size_t n, smalloc_cell *c) { return answer("realloc", p != nullptr, n, c); }
void *__smalloc_v1_aligned_alloc(size_t a, size_t n, smalloc_cell *c) { return answer("aligned_alloc", a, n, c); }
int __smalloc_v1_posix_memalign(void **out, size_t a, size_t n, smalloc_cell *c) {
  void *p = answer("posix_memalign", a, n, c);
  if (!p) return -1;
  *out = p;
  return 0;
}
void *__smalloc_v1_new(size_t n, smalloc_cell *c) { return answer("new", n, 0, c); }
void *__smalloc_v1_new_aligned(size_t n, size_t a, smalloc_cell *c) { return answer("new_aligned", n, a, c); }
void __smalloc_v1_touching(const void *p, uint64_t misses) {
  answer("touching", p != nullptr, misses, cells[0]);
  asm volatile("xorps %%xmm0,%%xmm0; xorps %%xmm1,%%xmm1; xorps %%xmm7,%%xmm7; xorps %%xmm15,%%xmm15" ::: "xmm0", "xmm1", "xmm7", "xmm15");
}
void __smalloc_v1_filling_each(const void *const *pointers, uint64_t range, uint64_t written, uint64_t count, uint64_t offset) {
  answer(range == written && pointers[count - 1] ? "each" : "wrong", written, count * 100 + offset, cells[0]);
  asm volatile("xorps %%xmm0,%%xmm0; xorps %%xmm1,%%xmm1; xorps %%xmm7,%%xmm7; xorps %%xmm15,%%xmm15" ::: "xmm0", "xmm1", "xmm7", "xmm15");
}
void __smalloc_v1_filling(const void *, uint64_t range, uint64_t written) {
  answer("filling", range, written, cells[0]);
  asm volatile("xorps %%xmm0,%%xmm0; xorps %%xmm1,%%xmm1; xorps %%xmm7,%%xmm7; xorps %%xmm15,%%xmm15" ::: "xmm0", "xmm1", "xmm7", "xmm15");
}
}
int main() {
  printf("record %u %u free %d realloc %d delete %d keys %d cells %d\n", module->version, module->bytes, module->free_function == (void *)free,
         module->realloc_function == (void *)realloc, module->delete_function == (void *)(void (*)(void *))::operator delete, module->keys_start < module->keys_stop, number);
  void *(*volatile no_builtin)(size_t) = malloc;
  auto all = [&](const char *what) {
    printf("-- %s\n", what);
    void *old = no_builtin(100);
    memset(old, 7, 100);
    void *made[] = {by_malloc(1000), by_calloc(30, 40), by_aligned(256, 512), by_memalign(512, 700), by_new(300), by_new_array(310), by_nothrow(320),
                    by_new_aligned(330, 128), by_aligned_nothrow(340, 1024), by_realloc(old, 5000)};
    const size_t bytes[] = {1000, 1200, 512, 700, 300, 310, 320, 330, 340, 5000}, alignment[] = {16, 16, 256, 512, 16, 16, 16, 128, 1024, 16};
    for (int i = 0; i < 10; i++) {
      printf("%d: %s", i, made[i] == served ? "served\n" : "");
      if (made[i] == served) continue;
      printf("%d", made[i] && malloc_usable_size(made[i]) >= bytes[i] && (size_t)made[i] % alignment[i] == 0);
      for (size_t k = 0; i == 1 && k < 1200; k++) if (((char *)made[i])[k]) abort();
      if (i == 9 && memcmp(made[i], "\7\7\7", 3)) abort();
      printf("\n");
      if (i < 4 || i == 9) free(made[i]);
    }
  };
  printf("-- tested\n");
  printf("few %.0f\n", swept(4, 4));
  printf("narrow %.0f\n", swept(1000000, 2));
  printf("wide %.0f\n", swept(4096, 300));
  all("refused");
  serves = 1, all("served"), serves = 0;
  for (size_t huge : {SIZE_MAX, SIZE_MAX / 2}) printf("overflow %d\n", by_calloc(huge, 8) == nullptr);
  throws = 1;
  try { by_new(10); } catch (std::runtime_error &e) { printf("caught %s\n", e.what()); }
  try { by_nothrow(20); } catch (std::runtime_error &e) { printf("caught %s\n", e.what()); }
  throws = 0;
  auto word = [&](uint64_t w) { for (int i = 0; i < number; i++) cells[i]->word = w; };
  word(0), all("left to the program");
  word(SMALLOC_WORD(SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_REWRITTEN, 21, SMALLOC_BY_COMPILER, 0));
  printf("the compiler's %.0f\n", swept(4, 4));
  word(SMALLOC_WORD(SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_REWRITTEN, 21, SMALLOC_BY_DIRECTIVE, 0));
  printf("another's %.0f\n", swept(4, 4));
  word(SMALLOC_WORD(SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_REWRITTEN, 21, 0, 2)), all("from two pages on");
  word(SMALLOC_WORD(SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_REWRITTEN, 21, 0, 1)), all("from one page on");
  word(SMALLOC_WORD(SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_REWRITTEN, 21, 0, 0) | SMALLOC_CELL_DIRECT), all("direct");
  try { by_new(SIZE_MAX / 2); } catch (std::bad_alloc &) { printf("the program's new threw\n"); }
  throws = 1;
  try { by_nothrow(20); } catch (std::runtime_error &e) { printf("caught %s of a direct site\n", e.what()); }
  throws = 0;
  serves = 1, all("direct and served"), serves = 0;
  word(SMALLOC_WORD(SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_REWRITTEN, 21, 0, 0) | SMALLOC_CELL_JOINS), all("joining");
  throws = 1;
  try { by_nothrow(20); } catch (std::runtime_error &e) { printf("caught %s of a joining site\n", e.what()); }
  throws = 0;
  serves = 1, all("joining and served"), serves = 0;
  static double a[72], b[64];
  static int at[6000];
  for (int i = 0; i < 64; i++) a[i] = b[i] = i;
  for (int i = 0; i < 6000; i++) at[i] = 63 - i % 64;
  printf("%.0f\n", gathered(a, at, 64, 3.0, 2.0));
  __smalloc_v1_pending = 1;
  printf("-- nothing of the first is forgotten\n");
  for (int i = 0; i < 200; i++) gathered(a, at, 64, 3.0, 2.0);
  printf("%.0f\n", gathered(a, at, 5000, 3.0, 2.0));
  printf("-- of two\n");
  for (int i = 0; i < 3; i++) of_two(a, b, at, 1000);
  printf("%.0f\n", gathered(a, at, 5000, 3.0, 2.0));
  printf("-- of a nest\n");
  for (int i = 0; i < 9; i++) in_rounds(a, at, 8, 64);
  printf("%.0f\n", gathered(a, at, 5000, 3.0, 2.0));
  static double big[600 * 512];
  printf("-- filled\n");
  printf("%.0f\n", filled(big, 262143, 3.0, 2.0));
  printf("%.0f\n", filled(big, 262144, 3.0, 2.0));
  printf("%.0f\n", filled_in_columns(big, 511, 512, 3.0, 2.0));
  printf("%.0f\n", filled_in_columns(big, 600, 512, 3.0, 2.0));
  static double *arrays[19], weights[19];
  for (int i = 0; i < 19; i++) arrays[i] = big, weights[i] = i;
  printf("%.0f\n", filled_side_by_side(arrays, arrays, weights, 262144, 3.0, 2.0));
  printf("%.0f\n", filled_side_by_side(arrays, arrays, weights, 262145, 3.0, 2.0));
}
C
quietly "$CLANGXX" -O1 -I"$SMALLOC_SOURCE/smalloc/include" -fno-builtin -fPIE -c runtime.cpp -o runtime.o
plain=("$CLANGXX" -O2 -Wno-unused-command-line-argument -fplugin="$PLUGIN")
all=(-fplugin-arg-smalloc-heap=superpage) # every site calls the entry
# build_with FLAGS...: ./program
build_with() {
  quietly "${plain[@]}" "$@" "${all[@]}" -c sites.cpp -o sites.o
  quietly "${plain[@]}" "$@" -fplugin-arg-smalloc-machine=zen3 -fplugin-arg-smalloc-first-touch=off -c loop.cpp -o loop.o
  quietly "${plain[@]}" "$@" -O2 -c fills.cpp -o fills.o # -Os would put no fill points there
  quietly "$CLANGXX" -Wno-unused-command-line-argument "$@" sites.o loop.o fills.o runtime.o -o program
}
# With another code model thunks are built as IR. Both print the same.
as_text() {
  "${plain[@]}" "${all[@]}" "$@" -S -o sites.s sites.cpp 2>log || { cat log >&2; fail "does not compile: $*"; }
  found 'Start of file scope inline assembly' <sites.s
}
as_text || fail "the thunks are not text"
as_text -mcmodel=medium && fail "the thunks of another code model are text"
as_text -mretpoline && fail "the thunks are text where calls are protected"
as_text -flto -fno-lto || fail "the thunks are not text without LTO"
build_with -mcmodel=medium
expect_status 0 ./program
cp out expected
expect_match expected '^record 1 80 free 1 realloc 1 delete 1 keys 1 cells 11$'
expect_match expected '^new_aligned 330 128: cell 1 stack 1 back to main 1$'
expect_match expected '^small 1000 0: cell 1 stack 1 back to main 1$'
expect_match expected '^small 320 1: cell 1 stack 1 back to main 1$'
expect_match expected '^joining 1000 0: cell 1 stack 1 back to main 1$'
expect_match expected '^joining 320 1: cell 1 stack 1 back to main 1$'
expect_match expected '^caught joining of a joining site$'
expect_match expected '^touching 1 4099: cell 1 stack 1 back to main 1$'
expect_touches() { # AFTER MISSES...
  local after=$1 misses
  shift
  misses=$(sed -n "/^-- $after\$/,/^[0-9]*\$/s/^touching 1 \([0-9]*\):.*/\1/p" expected | tr '\n' ' ')
  [ "$misses" = "$* " ] || fail "after '$after' it was told of $misses misses, not of $*"
}
expect_touches 'nothing of the first is forgotten' 4099 4099 4099 $((12800 - 3 * 4099 + 5000))
expect_touches 'of two' 4099 $((6000 - 4099 + 5000))
expect_touches 'of a nest' 4099 $((4608 - 4099 + 5000))
sed -n '/^-- filled$/,$p' expected >filled
[ "$(sed -n 's/^filling \(.*\)/\1/p' filled | tr '\n' ';')" = "2097152 2097152: cell 1 stack 1 back to main 1;2457600 2457600: cell 1 stack 1 back to main 1;" ] ||
  fail "it is not told once of each fill of a superpage or more: $(cat filled)"
[ "$(sed -n 's/^each \(.*\)/\1/p' filled | tr '\n' ';')" = "2097152 1908: cell 1 stack 1 back to main 1;2097152 1908: cell 1 stack 1 back to main 1;" ] ||
  fail "it is not told of the arrays that are filled side by side: $(cat filled)"
expect_match expected '^caught new$'
expect_match expected "^the program's new threw$"
expect_match expected '^caught small of a direct site$'
sed -n '/^-- tested$/,/^-- refused$/p' expected >tested
expect_match tested '^malloc 9830400 0: cell 1 stack 1 back to main 1$'
[ "$(grep -c '^malloc' tested)" = 1 ] || fail "sizes that do not pay are asked about, too"
[ "$(grep -A2 "^the compiler's" expected | grep -c '^malloc 128 0: cell 1')" = 1 ] || fail "what another has decided is tested, or what the compiler has is not"
expect_match expected '^bye 1$'
for flags in "" "-no-pie -fno-pie" "-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer" "-fcf-protection=full" "-fno-plt" "-masm=intel" "-g" "-fno-integrated-as" "-Os" "-ffunction-sections -Wl,--gc-sections" "-static"; do
  # shellcheck disable=SC2086 # several flags
  build_with $flags
  expect_status 0 ./program
  diff expected out >&2 || fail "flags ($flags): the program was asked something else"
done
# Without any entry the program behaves as without the plugin.
cat >bare.cpp <<'C'
#include <cstdlib>
void *by_new_aligned(size_t, size_t), *by_malloc(size_t);
int main() { return by_malloc(1000) && (size_t)by_new_aligned(100, 256) % 256 == 0 ? 0 : 1; }
C
for flags in "" "-static" "-no-pie -fno-pie" "-fuse-ld=lld" "-fuse-ld=gold"; do
  case $flags in *=lld) command -v ld.lld-22 ld.lld >/dev/null || continue ;; *=gold) command -v ld.gold >/dev/null || continue ;; esac
  # shellcheck disable=SC2086
  quietly "${plain[@]}" "${all[@]}" $flags sites.cpp loop.cpp bare.cpp -o bare
  expect_status 0 ./bare
done
