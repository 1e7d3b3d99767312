// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// next.h decides how a call that is not for us reaches the process' other allocator: the next
// definition of the same name after our own image in load order, looked up once, without dlsym
// (which leaves an allocated error text behind for names that do not exist, such as free_sized
// before glibc 2.43).
#ifndef SMALLOC_OVERRIDE_NEXT_H
#define SMALLOC_OVERRIDE_NEXT_H

#include "smalloc/core/runtime.h"
#include "smalloc/process/loaded_objects.h"

#include <dlfcn.h>

namespace smalloc {

/// What is called for the rest of the process must not be unloaded.
inline void keep_loaded([[maybe_unused]] void *function) {
#ifndef SMALLOC_STATIC // where nothing is loaded
  Dl_info image;
  if (dladdr(function, &image) && image.dli_fname)
    dlopen(image.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
#endif
}

template <class F> class NextFunction {
public:
  constexpr explicit NextFunction(const char *name) : name_(name) {}
  /// nullptr: nobody else defines it (yet: a library that does may be loaded later).
  F *get() {
    F *f = cached_.load(std::memory_order_relaxed);
    return SMALLOC_LIKELY(f != nullptr) ? f : find();
  }
  /// As get(), but never looks: nullptr until somebody did.
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
