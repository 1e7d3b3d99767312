// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// interpose.cpp frees and resizes the pointers that a program passes. One comparison with the
// reserved range identifies libsmalloc's objects. Any other pointer goes to the next definition of
// the same function, because allocators may distinguish free from each operator delete.
#include "smalloc/base/keep_errno.h"
#include "smalloc/core/runtime.h"
#include "smalloc/jemalloc/thread_cache.h"
#include "smalloc/override/foreign.h"
#include "smalloc/override/next.h"
#include "smalloc/sites/free_owner.h"

#include <errno.h>
#include <stdlib.h>

namespace smalloc {
namespace {

using Release = void(void *);
constinit NextFunction<Release> next_free("free");
constinit NextFunction<void *(void *, size_t)> next_realloc("realloc");
constinit NextFunction<size_t(void *)> next_usable_size("malloc_usable_size");
constinit NextFunction<Release> next_libc_free("__libc_free");
constinit NextFunction<void *(void *, size_t)> next_libc_realloc("__libc_realloc");
constinit NextFunction<void(void *, size_t)> next_free_sized("free_sized");
constinit NextFunction<void(void *, size_t, size_t)> next_free_aligned_sized("free_aligned_sized");

void pass_free(void *p) {
  if (Release *f = next_free.get())
    f(p);
}

// The function that free jumps to with a foreign object. It is never null, so that free needs no
// test. At first it is the function that looks up the next free.
void first_foreign_free(void *p);
constinit std::atomic<Release *> foreign_free{first_foreign_free};
void first_foreign_free(void *p) {
  if (Release *f = next_free.get()) {
    Release *first = first_foreign_free;
    foreign_free.compare_exchange_strong(first, f, std::memory_order_relaxed);
    f(p);
  }
}

} // namespace

SMALLOC_COLD void release_foreign(void *p) { pass_free(p); }
SMALLOC_COLD void *resize_foreign(void *p, size_t bytes) {
  auto *f = next_realloc.get();
  return f ? f(p, bytes) : nullptr;
}
SMALLOC_COLD size_t usable_foreign(void *p) {
  auto *f = next_usable_size.get();
  return f ? f(p) : 0;
}
SMALLOC_COLD bool knows_foreign_sizes() {
#ifdef SMALLOC_STATIC // one image defines them all
  return true;
#else
  enum class Answer : uint8_t { kUnknown, kNo, kYes };
  static std::atomic<Answer> known{Answer::kUnknown};
  if (known.load(std::memory_order_relaxed) == Answer::kUnknown) {
    auto *release = next_free.get();
    if (!release)
      return false; // a library that defines it may be loaded later
    const bool own = image_defines(reinterpret_cast<void *>(release), "malloc_usable_size");
    known.store(own ? Answer::kYes : Answer::kNo, std::memory_order_relaxed);
  }
  return known.load(std::memory_order_relaxed) == Answer::kYes;
#endif
}

} // namespace smalloc

using smalloc::g_range;
using smalloc::g_runtime;

namespace {
// Separate, so that the most frequent path saves no register first.
__attribute__((noinline)) void free_ours(void *p) {
  const size_t offset = g_range.offset(p);
  if (g_range.is_in_hole(p))
    return smalloc::folded(smalloc::foreign_free)(p);
  if (offset >= smalloc::folded(g_range.main_heap_bytes))
    return g_runtime.release(p);
  jepriv_free(p);
  smalloc::KnownPages::learn(p, offset);
}
__attribute__((noinline)) void free_outside_slabs(void *p, uint64_t page) {
  if (smalloc::g_bitmap_heap.owns(g_range.offset(p)))
    return smalloc::g_bitmap_heap.release(p);
  if (!smalloc::put_larger_into_thread_cache(p, page))
    free_ours(p);
}
__attribute__((always_inline)) inline void free_any(void *p) {
  const size_t offset = g_range.offset(p);
  if (SMALLOC_LIKELY(offset >= smalloc::folded(g_range.bytes)))
    return smalloc::folded(smalloc::foreign_free)(p);
  const uint64_t page = smalloc::KnownPages::word(p, offset);
  if (SMALLOC_UNLIKELY(!smalloc::is_in_slab(page)))
    return free_outside_slabs(p, page);
  if (SMALLOC_UNLIKELY(!smalloc::put_into_thread_cache(p, page)))
    free_ours(p);
}
} // namespace

namespace smalloc {
void *grow_foreign(void *p, size_t bytes, const void *caller) {
  if (bytes >= kSuperpageBytes) {
    KeepErrno keep;
    if (g_runtime.takes_over(bytes) && knows_foreign_sizes()) {
      const size_t had = usable_foreign(p);
      void *r = had < bytes ? g_runtime.take_over(p, had, bytes, nullptr, caller) : nullptr;
      if (r) {
        release_foreign(p);
        return r;
      }
    }
  }
  return resize_foreign(p, bytes);
}
void *resize_ours(void *p, size_t bytes, smalloc_cell *cell) {
  const size_t offset = g_range.offset(p);
  void *now, *left;
  if (!resize_in_thread_cache(p, bytes, KnownPages::word(p, offset), now, left)) {
    if (g_range.is_in_hole(p))
      return resize_foreign(p, bytes);
    now = g_runtime.resize(p, bytes, false, cell);
    KnownPages::learn(p, offset); // growing lists may free nothing for long
    return now;
  }
  if (SMALLOC_UNLIKELY(left != nullptr))
    free_ours(left);
  return now;
}
} // namespace smalloc

namespace {
__attribute__((noinline)) size_t usable_elsewhere(void *p) {
  return g_range.contains(p) ? g_runtime.usable_bytes(p) : smalloc::usable_foreign(p);
}
__attribute__((noinline)) void *realloc_elsewhere(void *p, size_t bytes, const void *caller) {
  // resize_ours() handles the returned parts, where fewer calls pass.
  if (!g_range.covers(p))
    return smalloc::grow_foreign(p, bytes, caller);
  if (bytes == 0 && !g_range.is_in_hole(p)) { // like glibc
    g_runtime.release(p);
    return nullptr;
  }
  return smalloc::resize_ours(p, bytes);
}
/// True if the object is foreign and the next function is known.
template <class F> bool surely_next(void *p, F *next) {
  return SMALLOC_LIKELY(next && g_range.offset(p) >= smalloc::folded(g_range.bytes));
}
} // namespace

SMALLOC_EXPORT void free(void *p) { free_any(p); }

SMALLOC_EXPORT void *realloc(void *p, size_t bytes) {
  if (SMALLOC_UNLIKELY(!p))
    return malloc(bytes);
  auto *f = smalloc::next_realloc.known();
  return surely_next(p, f) && SMALLOC_LIKELY(bytes < smalloc::kSuperpageBytes)
             ? f(p, bytes)
             : realloc_elsewhere(p, bytes, __builtin_return_address(0));
}

SMALLOC_EXPORT void *reallocarray(void *p, size_t count, size_t bytes) {
  size_t total;
  if (__builtin_mul_overflow(count, bytes, &total)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(p, total);
}

// Some programs call this after every malloc and before every free (redis).
SMALLOC_EXPORT size_t malloc_usable_size(void *p) {
  auto *f = smalloc::next_usable_size.known();
  return surely_next(p, f) ? f(p) : usable_elsewhere(p);
}

// C23. If the next allocator lacks these functions, its free is called, which takes every object.
// The same holds for an allocator before libsmalloc: it lacks them, or this function would not be
// called.
SMALLOC_EXPORT void free_sized(void *p, size_t bytes) {
  if (g_range.contains(p))
    g_runtime.release(p);
  else if (smalloc::another_free_is_first())
    free(p);
  else if (auto *f = smalloc::next_free_sized.get())
    f(p, bytes);
  else
    smalloc::pass_free(p);
}
SMALLOC_EXPORT void free_aligned_sized(void *p, size_t alignment, size_t bytes) {
  if (g_range.contains(p))
    g_runtime.release(p);
  else if (smalloc::another_free_is_first())
    free(p);
  else if (auto *f = smalloc::next_free_aligned_sized.get())
    f(p, alignment, bytes);
  else
    smalloc::pass_free(p);
}

// Further names of glibc. cfree is for programs linked before glibc 2.26. Wrappers of malloc reach
// the real function by the others, so foreign pointers continue under the same name. For the same
// reason __libc_malloc is not defined: a wrapper would hand out its result with an offset.
SMALLOC_EXPORT void cfree(void *p) { free(p); }
SMALLOC_EXPORT void __libc_free(void *p) {
  if (g_range.contains(p))
    g_runtime.release(p);
  else if (auto *f = smalloc::next_libc_free.get())
    f(p);
}
SMALLOC_EXPORT void *__libc_realloc(void *p, size_t bytes) {
  if (g_range.contains(p))
    return realloc(p, bytes);
  auto *f = smalloc::next_libc_realloc.get();
  return f ? f(p, bytes) : nullptr;
}

// The twelve forms of operator delete, by their linkage names: this library has no C++ runtime of
// its own. `chain` is the body of the C++ runtime's form. All but two call another form, which the
// program may have replaced.
#ifdef SMALLOC_STATIC
// Weak in this file already: otherwise the compiler takes another form's body for the one that the
// program will have. If the program's form calls libsmalloc's, that does what the C++ runtime's
// would do: there is no next definition.
#define SMALLOC_DELETE(name, parameters, arguments, chain)                                         \
  SMALLOC_EXPORT __attribute__((weak)) void name parameters { chain; }
#define SMALLOC_DELETE_BASE(name, parameters, arguments)                                           \
  SMALLOC_DELETE(name, parameters, arguments, free(p))
#else
namespace smalloc {
namespace {
template <class F> class NextDelete {
public:
  constexpr explicit NextDelete(const char *name) : next_(name) {}
  F *get() {
    F *f = next_.get();
    if (SMALLOC_UNLIKELY(f && !asked_.load(std::memory_order_relaxed))) {
      // False where another free comes before libsmalloc's: the C++ runtime would call that one.
      is_free_.store(!another_free_is_first() && deletes_reach_us() &&
                         who_is_behind(reinterpret_cast<void *>(f)) == Behind::kRuntime,
                     std::memory_order_relaxed);
      asked_.store(true, std::memory_order_relaxed);
    }
    return f;
  }
  /// True if the next form is the C++ runtime's, which only calls free: that call can be skipped.
  bool is_free() const { return folded(is_free_); }

private:
  NextFunction<F> next_;
  std::atomic<bool> asked_{false}, is_free_{false};
};
} // namespace
} // namespace smalloc

// A program without libstdc++, or with it inside, has no next definition. Then operator new's
// memory came from the allocator of free, unless the program replaced the form that this one ends
// in. An operator delete that the program replaced gets every pointer. What it does is its own
// affair, and what it frees comes to libsmalloc's free.
#define SMALLOC_DELETE(name, parameters, arguments, chain)                                         \
  static constinit smalloc::NextDelete<void parameters> next_##name(#name);                        \
  /* Separate, so that the most frequent path saves no register first. */                          \
  static __attribute__((noinline)) void ask_##name parameters {                                    \
    auto *f = next_##name.get();                                                                   \
    if (g_range.contains(p) && !smalloc::operators_replaced())                                     \
      g_runtime.release(p);                                                                        \
    else if (f)                                                                                    \
      f arguments;                                                                                 \
    else                                                                                           \
      chain;                                                                                       \
  }                                                                                                \
  SMALLOC_EXPORT void name parameters {                                                            \
    if (SMALLOC_LIKELY(next_##name.is_free()))                                                     \
      return free_any(p);                                                                          \
    ask_##name arguments;                                                                          \
  }
#define SMALLOC_DELETE_BASE(name, parameters, arguments)                                           \
  SMALLOC_DELETE(name, parameters, arguments, free(p))
#endif
SMALLOC_DELETE_BASE(_ZdlPv, (void *p), (p))
SMALLOC_DELETE_BASE(_ZdlPvSt11align_val_t, (void *p, size_t a), (p, a))
SMALLOC_DELETE(_ZdaPv, (void *p), (p), _ZdlPv(p))
SMALLOC_DELETE(_ZdlPvm, (void *p, size_t n), (p, n), _ZdlPv(p))
SMALLOC_DELETE(_ZdaPvm, (void *p, size_t n), (p, n), _ZdaPv(p))
SMALLOC_DELETE(_ZdaPvSt11align_val_t, (void *p, size_t a), (p, a), _ZdlPvSt11align_val_t(p, a))
SMALLOC_DELETE(_ZdlPvmSt11align_val_t, (void *p, size_t n, size_t a), (p, n, a),
               _ZdlPvSt11align_val_t(p, a))
SMALLOC_DELETE(_ZdaPvmSt11align_val_t, (void *p, size_t n, size_t a), (p, n, a),
               _ZdaPvSt11align_val_t(p, a))
SMALLOC_DELETE(_ZdlPvRKSt9nothrow_t, (void *p, const void *t), (p, t), _ZdlPv(p))
SMALLOC_DELETE(_ZdaPvRKSt9nothrow_t, (void *p, const void *t), (p, t), _ZdaPv(p))
SMALLOC_DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t a, const void *t), (p, a, t),
               _ZdlPvSt11align_val_t(p, a))
SMALLOC_DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t a, const void *t), (p, a, t),
               _ZdaPvSt11align_val_t(p, a))
#undef SMALLOC_DELETE_BASE
#undef SMALLOC_DELETE

// The same definitions under names that no other image can define. An image must resolve free and
// the others to these addresses to use libsmalloc's heaps.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmissing-attributes" // the aliases are only compared, never called
#endif
extern "C" {
__attribute__((visibility("hidden"))) void smalloc_own_free(void *) __attribute__((alias("free")));
__attribute__((visibility("hidden"))) void *smalloc_own_realloc(void *, size_t)
    __attribute__((alias("realloc")));
__attribute__((visibility("hidden"))) void smalloc_own_delete(void *)
    __attribute__((alias("_ZdlPv")));
#ifdef SMALLOC_STATIC // static_base.cpp compares these, too
#define SMALLOC_OWN_DELETE(name, ...)                                                              \
  __attribute__((visibility("hidden"))) void smalloc_own##name(__VA_ARGS__)                        \
      __attribute__((alias(#name)));
SMALLOC_OWN_DELETE(_ZdaPv, void *)
SMALLOC_OWN_DELETE(_ZdlPvSt11align_val_t, void *, size_t)
SMALLOC_OWN_DELETE(_ZdaPvSt11align_val_t, void *, size_t)
#undef SMALLOC_OWN_DELETE
#endif
}

namespace smalloc {
// Relocated before any constructor runs: images may register before libsmalloc's constructor.
OwnFunctions g_own = {reinterpret_cast<void *>(&smalloc_own_free),
                      reinterpret_cast<void *>(&smalloc_own_realloc),
                      reinterpret_cast<void *>(&smalloc_own_delete),
                      reinterpret_cast<void *>(&free),
                      reinterpret_cast<void *>(&realloc),
                      reinterpret_cast<void *>(&_ZdlPv)};
} // namespace smalloc
