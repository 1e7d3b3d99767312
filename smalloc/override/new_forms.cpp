// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// new_forms.cpp defines the forms of operator new. Requests go to Runtime::sized_allocate(), as
// malloc's do. If that declines, the next definition of the same form serves, which keeps
// new_handler and bad_alloc. A peer's operator new does not call malloc, so without this file
// libsmalloc would serve no C++ object beside one. An operator new of the program's own libraries
// is left alone: it may count, or use a pool.
#include "smalloc/core/runtime.h"
#include "smalloc/override/foreign.h"
#include "smalloc/override/next.h"
#include "smalloc/override/sized.h"
#include "smalloc/sites/free_owner.h"

#include <stdlib.h>

using smalloc::g_runtime;

namespace smalloc {
namespace {

template <class F> class NextNew {
public:
  constexpr explicit NextNew(const char *name) : next_(name) {}
  F *get() { return next_.get(); }
  Behind behind() {
    Behind seen = behind_.load(std::memory_order_relaxed);
    if (SMALLOC_UNLIKELY(seen == Behind::kUnknown)) {
      // An allocator in front that defines only the C names gets the pointers that operator delete
      // frees. So it has to serve the request.
      seen = operators_replaced() || modules_who_owns_free()
                 ? Behind::kReplaced
                 : who_is_behind(reinterpret_cast<void *>(next_.get()));
      behind_.store(seen, std::memory_order_relaxed);
    }
    return seen;
  }
  /// True if behind() has found that this form is not replaced: then libsmalloc may serve without
  /// another test.
  bool is_runtime() const { return folded(behind_) == Behind::kRuntime; }

private:
  NextFunction<F> next_;
  std::atomic<Behind> behind_{Behind::kUnknown};
};

} // namespace
} // namespace smalloc

// Exceptions pass through these frames: this file is compiled with unwind tables.
// `direct` avoids the C++ runtime's function, which would call libsmalloc's malloc. Only its
// failure needs that function.
// `chain` is the body of the C++ runtime's form. If the program replaces some forms and contains
// the runtime (-static-libstdc++), the others may have no next definition. A nothrow form then lets
// the exception of the program's own form pass.
#define SMALLOC_PARAMETERS(...) __VA_ARGS__
#define SMALLOC_NEW(name, parameters, arguments, cached, request, direct, otherwise, chain)        \
  static constinit smalloc::NextNew<void *parameters> next_##name(#name);                          \
  /* Separate, so that the thread cache's path saves no register first. */                         \
  static __attribute__((noinline)) void *past_cache_##name(SMALLOC_PARAMETERS parameters,          \
                                                           [[maybe_unused]] const void *caller) {  \
    smalloc::Behind behind = next_##name.behind();                                                 \
    if (n >= smalloc::folded(smalloc::g_malloc_entry.foreign_below) &&                             \
        !smalloc::Runtime::stays_small(n) && !g_runtime.surely_foreign(n) &&                       \
        behind != smalloc::Behind::kReplaced)                                                      \
      if (void *p = request)                                                                       \
        return p;                                                                                  \
    if (SMALLOC_LIKELY(behind == smalloc::Behind::kRuntime))                                       \
      if (void *p = direct)                                                                        \
        return p;                                                                                  \
    auto *f = next_##name.get();                                                                   \
    if (f)                                                                                         \
      return f arguments;                                                                          \
    return behind == smalloc::Behind::kReplaced ? chain : otherwise;                               \
  }                                                                                                \
  SMALLOC_EXPORT void *name parameters {                                                           \
    const void *caller = __builtin_return_address(0);                                              \
    if (SMALLOC_LIKELY(next_##name.is_runtime()))                                                  \
      if (void *p = cached)                                                                        \
        return p;                                                                                  \
    return past_cache_##name(SMALLOC_PARAMETERS arguments, caller);                                \
  }
#define SMALLOC_NEW_PLAIN(name, parameters, arguments, chain)                                      \
  SMALLOC_NEW(name, parameters, arguments,                                                         \
              n < smalloc::folded(smalloc::g_malloc_entry.cached_below)                            \
                  ? smalloc::take_from_thread_cache(n)                                             \
                  : nullptr,                                                                       \
              smalloc::try_sized(n, caller), smalloc::allocate_foreign(n), malloc(n), chain)
#define SMALLOC_NEW_ALIGNED(name, parameters, arguments, chain)                                    \
  SMALLOC_NEW(name, parameters, arguments, nullptr, smalloc::try_aligned(a, n, caller), nullptr,   \
              aligned_alloc(a, n), chain)
SMALLOC_NEW_PLAIN(_Znwm, (size_t n), (n), malloc(n))
SMALLOC_NEW_PLAIN(_Znam, (size_t n), (n), _Znwm(n))
SMALLOC_NEW_PLAIN(_ZnwmRKSt9nothrow_t, (size_t n, const void *t), (n, t), _Znwm(n))
SMALLOC_NEW_PLAIN(_ZnamRKSt9nothrow_t, (size_t n, const void *t), (n, t), _Znam(n))
SMALLOC_NEW_ALIGNED(_ZnwmSt11align_val_t, (size_t n, size_t a), (n, a), aligned_alloc(a, n))
SMALLOC_NEW_ALIGNED(_ZnamSt11align_val_t, (size_t n, size_t a), (n, a), _ZnwmSt11align_val_t(n, a))
SMALLOC_NEW_ALIGNED(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t n, size_t a, const void *t),
                    (n, a, t), _ZnwmSt11align_val_t(n, a))
SMALLOC_NEW_ALIGNED(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t n, size_t a, const void *t),
                    (n, a, t), _ZnamSt11align_val_t(n, a))
#undef SMALLOC_NEW_ALIGNED
#undef SMALLOC_NEW_PLAIN
#undef SMALLOC_NEW
#undef SMALLOC_PARAMETERS
