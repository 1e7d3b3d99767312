// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// next.h forwards calls to the process' other allocator: the next definition of the same name
// behind libsmalloc's image in load order. It is looked up once, without dlsym. For a name that
// does not exist dlsym leaves an allocated error text behind (free_sized before glibc 2.43).
#ifndef SMALLOC_OVERRIDE_NEXT_H
#define SMALLOC_OVERRIDE_NEXT_H

#include "smalloc/core/runtime.h"
#include "smalloc/process/loaded_objects.h"

#include <dlfcn.h>

namespace smalloc {

/// Prevents the unloading of the image that defines `function`, which is called until the process
/// ends.
inline void keep_loaded([[maybe_unused]] void *function) {
#ifndef SMALLOC_STATIC // a static program loads nothing
  Dl_info image;
  if (dladdr(function, &image) && image.dli_fname)
    dlopen(image.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
#endif
}

template <class F> class NextFunction {
public:
  constexpr explicit NextFunction(const char *name) : name_(name) {}
  /// Returns the next definition. nullptr: there is none yet; a library that is loaded later may
  /// define it.
  F *get() {
    F *f = cached_.load(std::memory_order_relaxed);
    return SMALLOC_LIKELY(f != nullptr) ? f : find();
  }
  /// Returns what get() has found, without a lookup; nullptr: it has found nothing yet.
  F *known() const { return cached_.load(std::memory_order_relaxed); }

private:
  SMALLOC_COLD F *find() {
    F *f = reinterpret_cast<F *>(next_definition(name_, this));
    if (f && was_loaded_later(reinterpret_cast<void *>(f)))
      keep_loaded(reinterpret_cast<void *>(f));
    cached_.store(f, std::memory_order_relaxed);
    return f;
  }
  const char *name_;
  std::atomic<F *> cached_{nullptr};
};

} // namespace smalloc
#endif
