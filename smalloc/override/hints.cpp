// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hints.cpp serves allocation hints from other parts of the toolchain, by two interfaces of
// tcmalloc. One is Clang's AllocToken (-fsanitize=alloc-token): __alloc_token_malloc(n, token), and
// with -fsanitize-alloc-token-fast-abi and two tokens __alloc_token_1_malloc(n). Its default mode
// puts types with pointers into the upper half of the tokens. The other is operator new(size_t,
// __hot_cold_t), which LLVM calls with MemProf profiles. Hot objects and objects with pointers are
// treated as one allocation site of many small objects. libsmalloc serves them once they exceed the
// TLB's reach. Everything else is the program's own call; cold objects never get superpages.
#include "smalloc/core/runtime.h"
#include "smalloc/include/smalloc/machine.h"
#include "smalloc/include/smalloc/smalloc.h"
#include "smalloc/override/foreign.h"
#include "smalloc/sites/free_owner.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

using smalloc::g_runtime;
using smalloc::kMallocAlignment;

extern "C" {
#define SMALLOC_PROGRAMS_NEW(name, ...) void *name(__VA_ARGS__) __attribute__((weak))
SMALLOC_PROGRAMS_NEW(_Znwm, size_t);
SMALLOC_PROGRAMS_NEW(_Znam, size_t);
SMALLOC_PROGRAMS_NEW(_ZnwmRKSt9nothrow_t, size_t, const void *);
SMALLOC_PROGRAMS_NEW(_ZnamRKSt9nothrow_t, size_t, const void *);
SMALLOC_PROGRAMS_NEW(_ZnwmSt11align_val_t, size_t, size_t);
SMALLOC_PROGRAMS_NEW(_ZnamSt11align_val_t, size_t, size_t);
SMALLOC_PROGRAMS_NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, size_t, size_t, const void *);
SMALLOC_PROGRAMS_NEW(_ZnamSt11align_val_tRKSt9nothrow_t, size_t, size_t, const void *);
#undef SMALLOC_PROGRAMS_NEW
}

namespace {
enum class Hint : uint8_t { kNone, kCold, kHot };
constexpr size_t kMostAlignment = size_t{1} << 30;
/// LLVM's defaults are 1 cold, 128 not cold, 254 hot (-memprof-...-new-hint-value).
constexpr uint8_t kColdBelow = 128, kHotFrom = 192;

/// Tokens have 64 bits by default, so the upper half is the top bit; with -falloc-token-max=2 it is
/// 1.
constexpr Hint of_token(uint64_t token) {
  return token >> 63 || token == 1 ? Hint::kHot : Hint::kNone;
}
constexpr Hint of_temperature(uint8_t value) {
  return value < kColdBelow ? Hint::kCold : value >= kHotFrom ? Hint::kHot : Hint::kNone;
}

/// The site of all hinted objects. It has no descriptor, so statistics show it as "no site".
smalloc_cell g_hinted_cell;

smalloc_cell *hinted_cell() {
  if (SMALLOC_UNLIKELY(__atomic_load_n(&g_hinted_cell.word, __ATOMIC_RELAXED) == 0)) {
    bool all = g_runtime.options().heap_given &&
               g_runtime.options().heap == smalloc::HeapStrategy::kSuperpage;
    uint64_t pages = smalloc_machine_reach_pages(smalloc_machine_native());
    __atomic_store_n(&g_hinted_cell.word,
                     all ? SMALLOC_WORD(SMALLOC_DECISION_SUPERPAGE, SMALLOC_SITE_SMALL, 21,
                                        SMALLOC_BY_PROFILE, 0)
                         : SMALLOC_WORD(SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 21,
                                        SMALLOC_BY_PROFILE, pages),
                     __ATOMIC_RELAXED);
  }
  return &g_hinted_cell;
}

/// Serves a hinted request. nullptr: the program's own function serves, which also handles invalid
/// arguments.
void *try_hint(Hint hint, size_t bytes, size_t alignment = kMallocAlignment, bool zero = false) {
  if (hint != Hint::kHot || bytes > PTRDIFF_MAX || !smalloc::is_power_of_two(alignment) ||
      alignment > kMostAlignment)
    return nullptr;
  return g_runtime.site_allocate(hinted_cell(), bytes, smalloc::max_of(alignment, kMallocAlignment),
                                 zero);
}
/// Acts as try_hint(), for objects that operator delete frees. A cold object bypasses the functions
/// that may serve by size alone.
void *try_new(Hint hint, size_t bytes, size_t alignment = kMallocAlignment) {
  if (hint == Hint::kNone || !smalloc::deletes_reach_us())
    return nullptr;
  if (hint == Hint::kHot)
    return try_hint(hint, bytes, alignment);
  // Not where another free comes first: the C++ runtime's delete would call that one.
  if (smalloc::another_free_is_first() || alignment > kMallocAlignment)
    return nullptr;
  if (g_runtime.serves_all())
    return g_runtime.kind_allocate(bytes, alignment, false, SMALLOC_BASE);
  return smalloc::allocate_foreign(bytes);
}

void *hinted_malloc(Hint hint, size_t n) {
  void *p = try_hint(hint, n);
  return p ? p : malloc(n);
}
void *hinted_calloc(Hint hint, size_t count, size_t n) {
  size_t total;
  void *p = __builtin_mul_overflow(count, n, &total)
                ? nullptr
                : try_hint(hint, total, kMallocAlignment, true);
  return p ? p : calloc(count, n);
}
void *hinted_realloc(Hint hint, void *p, size_t n) {
  return p ? realloc(p, n) : hinted_malloc(hint, n);
}
void *hinted_reallocarray(Hint hint, void *p, size_t count, size_t n) {
  size_t total;
  if (p || __builtin_mul_overflow(count, n, &total))
    return reallocarray(p, count, n);
  return hinted_malloc(hint, total);
}
void *hinted_memalign(Hint hint, size_t a, size_t n) {
  void *p = try_hint(hint, n, a);
  return p ? p : memalign(a, n);
}
void *hinted_aligned_alloc(Hint hint, size_t a, size_t n) {
  void *p = try_hint(hint, n, a);
  return p ? p : aligned_alloc(a, n);
}
int hinted_posix_memalign(Hint hint, void **out, size_t a, size_t n) {
  void *p = a % sizeof(void *) == 0 ? try_hint(hint, n, a) : nullptr;
  if (!p)
    return posix_memalign(out, a, n);
  *out = p;
  return 0;
}
void *hinted_valloc(Hint hint, size_t n) {
  void *p = try_hint(hint, n, smalloc::kBasePageBytes);
  return p ? p : valloc(n);
}
void *hinted_pvalloc(Hint hint, size_t n) {
  void *p = n && n <= PTRDIFF_MAX ? try_hint(hint, smalloc::align_up(n, smalloc::kBasePageBytes),
                                             smalloc::kBasePageBytes)
                                  : nullptr;
  return p ? p : pvalloc(n);
}
char *hinted_strdup(Hint, const char *s) { return strdup(s); } // text contains no pointers
char *hinted_strndup(Hint, const char *s, size_t n) { return strndup(s, n); }
} // namespace

#define SMALLOC_UNWRAP(...) __VA_ARGS__
#define SMALLOC_TOKENS(result, name, parameters, arguments)                                        \
  SMALLOC_EXPORT result __alloc_token_##name(SMALLOC_UNWRAP parameters, uint64_t token) {          \
    return hinted_##name(of_token(token), SMALLOC_UNWRAP arguments);                               \
  }                                                                                                \
  SMALLOC_EXPORT result __alloc_token_0_##name(SMALLOC_UNWRAP parameters) {                        \
    return hinted_##name(Hint::kNone, SMALLOC_UNWRAP arguments);                                   \
  }                                                                                                \
  SMALLOC_EXPORT result __alloc_token_1_##name(SMALLOC_UNWRAP parameters) {                        \
    return hinted_##name(Hint::kHot, SMALLOC_UNWRAP arguments);                                    \
  }
SMALLOC_TOKENS(void *, malloc, (size_t n), (n))
SMALLOC_TOKENS(void *, calloc, (size_t count, size_t n), (count, n))
SMALLOC_TOKENS(void *, realloc, (void *p, size_t n), (p, n))
SMALLOC_TOKENS(void *, reallocarray, (void *p, size_t count, size_t n), (p, count, n))
SMALLOC_TOKENS(void *, memalign, (size_t a, size_t n), (a, n))
SMALLOC_TOKENS(void *, aligned_alloc, (size_t a, size_t n), (a, n))
SMALLOC_TOKENS(int, posix_memalign, (void **out, size_t a, size_t n), (out, a, n))
SMALLOC_TOKENS(void *, valloc, (size_t n), (n))
SMALLOC_TOKENS(void *, pvalloc, (size_t n), (n))
SMALLOC_TOKENS(char *, strdup, (const char *s), (s))
SMALLOC_TOKENS(char *, strndup, (const char *s, size_t n), (s, n))

// bad_alloc passes through these frames: this file is compiled with unwind tables.
#define SMALLOC_NEWS(name, parameters, arguments, alignment, chain)                                \
  static inline void *hinted_##name(Hint hint, SMALLOC_UNWRAP parameters) {                        \
    if (void *p = try_new(hint, n, alignment))                                                     \
      return p;                                                                                    \
    return name ? name(SMALLOC_UNWRAP arguments) : chain;                                          \
  }                                                                                                \
  SMALLOC_TOKENS(void *, name, parameters, arguments)                                              \
  /* The compiler may give both hints: the temperature is the better one. */                       \
  static inline void *hinted_##name##12__hot_cold_t(Hint, SMALLOC_UNWRAP parameters,               \
                                                    uint8_t temperature) {                         \
    return hinted_##name(of_temperature(temperature), SMALLOC_UNWRAP arguments);                   \
  }                                                                                                \
  SMALLOC_EXPORT void *name##12__hot_cold_t(SMALLOC_UNWRAP parameters, uint8_t temperature) {      \
    return hinted_##name(of_temperature(temperature), SMALLOC_UNWRAP arguments);                   \
  }                                                                                                \
  SMALLOC_TOKENS(void *, name##12__hot_cold_t, (SMALLOC_UNWRAP parameters, uint8_t temperature),   \
                 (SMALLOC_UNWRAP arguments, temperature))
// A static program has only the forms that it refers to itself. A missing form does what the C++
// runtime's would do. The runtime's nothrow forms catch what the other form throws, which is
// impossible here. So only a replaced form is called.
#define SMALLOC_CHAIN(name, alignment, ...) (name ? name(__VA_ARGS__) : memalign(alignment, n))
#define SMALLOC_CHAIN_NOTHROW(name, alignment, ...)                                                \
  (name && smalloc::operators_replaced() ? name(__VA_ARGS__) : memalign(alignment, n))
SMALLOC_NEWS(_Znwm, (size_t n), (n), kMallocAlignment, memalign(kMallocAlignment, n))
SMALLOC_NEWS(_Znam, (size_t n), (n), kMallocAlignment, SMALLOC_CHAIN(_Znwm, kMallocAlignment, n))
SMALLOC_NEWS(_ZnwmRKSt9nothrow_t, (size_t n, const void *t), (n, t), kMallocAlignment,
             SMALLOC_CHAIN_NOTHROW(_Znwm, kMallocAlignment, n))
SMALLOC_NEWS(_ZnamRKSt9nothrow_t, (size_t n, const void *t), (n, t), kMallocAlignment,
             SMALLOC_CHAIN_NOTHROW((_Znam ? _Znam : _Znwm), kMallocAlignment, n))
SMALLOC_NEWS(_ZnwmSt11align_val_t, (size_t n, size_t a), (n, a), a, memalign(a, n))
SMALLOC_NEWS(_ZnamSt11align_val_t, (size_t n, size_t a), (n, a), a,
             SMALLOC_CHAIN(_ZnwmSt11align_val_t, a, n, a))
SMALLOC_NEWS(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t n, size_t a, const void *t), (n, a, t), a,
             SMALLOC_CHAIN_NOTHROW(_ZnwmSt11align_val_t, a, n, a))
SMALLOC_NEWS(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t n, size_t a, const void *t), (n, a, t), a,
             SMALLOC_CHAIN_NOTHROW((_ZnamSt11align_val_t ? _ZnamSt11align_val_t
                                                         : _ZnwmSt11align_val_t),
                                   a, n, a))
