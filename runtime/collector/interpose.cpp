// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// interpose.cpp defines the functions that libsmalloc_feedback.so interposes:
// - the malloc family;
// - operator new, to learn its caller, and because libsmalloc's calls no other function;
// - the plugin's entries: they announce an allocation's site, and the program's own function then
// serves it;
// - munmap and mremap, for memory that such sites have mapped.
// Without a recording each calls the next definition.
//
// A free is recorded before it happens, an allocation after it. Otherwise another thread could get
// the address between the free and its record.
#include "runtime/collector/collector.h"
#include "runtime/collector/mapped_sites.h"
#include "smalloc/include/smalloc/site.h"
#include "smalloc/override/fortran_descriptor.h"
#include "smalloc/override/next.h"

#include <atomic>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace smalloc;

namespace {

constinit NextFunction<void *(size_t)> next_malloc("malloc");
constinit NextFunction<void(void *)> next_free("free");
constinit NextFunction<void *(size_t, size_t)> next_calloc("calloc");
constinit NextFunction<void *(void *, size_t)> next_realloc("realloc");
constinit NextFunction<void *(size_t, size_t)> next_memalign("memalign");
constinit NextFunction<void *(size_t, size_t)> next_aligned_alloc("aligned_alloc");
constinit NextFunction<int(void **, size_t, size_t)> next_posix_memalign("posix_memalign");
constinit NextFunction<void *(size_t)> next_valloc("valloc");
constinit NextFunction<void *(size_t)> next_pvalloc("pvalloc");

void *noted(void *p, size_t bytes, const void *caller) {
  if (SMALLOC_LIKELY(trace::recording())) {
    if (p)
      trace::note_allocate(p, bytes, caller);
    else
      trace::forget_announced();
  }
  return p;
}
void *no_memory() {
  errno = ENOMEM;
  return nullptr;
}

// True if libsmalloc defines the function: then it lies where the plugin's entry does.
bool is_libsmallocs(const void *function) {
  static constinit NextFunction<void *(size_t, smalloc_cell *)> next_entry("__smalloc_v1_new");
  Dl_info its, entrys;
  const auto *entry = reinterpret_cast<const void *>(next_entry.get());
  return entry && dladdr(function, &its) && dladdr(entry, &entrys) &&
         its.dli_fbase == entrys.dli_fbase;
}

// Says whether a form of operator new is libsmalloc's; looks once, because dladdr searches.
class NewForm {
public:
  bool is_libsmallocs(const void *form) {
    State state = state_.load(std::memory_order_relaxed);
    if (SMALLOC_UNLIKELY(state == State::kUnknown)) {
      state = ::is_libsmallocs(form) ? State::kLibsmalloc : State::kOther;
      state_.store(state, std::memory_order_relaxed);
    }
    return state == State::kLibsmalloc;
  }

private:
  enum class State : unsigned char { kUnknown, kLibsmalloc, kOther };
  std::atomic<State> state_{State::kUnknown};
};

// Ends a call of operator new whose caller was announced. Records the object if libsmalloc returned
// it. Any other form of operator new calls a function that has recorded the object already.
void *noted_new(void *p, size_t bytes, bool is_libsmallocs, const void *caller) {
  if (!trace::has_announced())
    return p;
  if (p && is_libsmallocs)
    trace::note_allocate(p, bytes, caller);
  else
    trace::forget_announced();
  return p;
}

} // namespace

#define CALLER __builtin_return_address(0)

SMALLOC_EXPORT void *malloc(size_t bytes) {
  auto *f = next_malloc.get();
  return f ? noted(f(bytes), bytes, CALLER) : no_memory();
}
SMALLOC_EXPORT void free(void *p) {
  if (p && SMALLOC_LIKELY(trace::recording()))
    trace::note_free(p);
  if (auto *f = next_free.get())
    f(p);
}
SMALLOC_EXPORT void *calloc(size_t count, size_t bytes) {
  auto *f = next_calloc.get();
  return f ? noted(f(count, bytes), count * bytes, CALLER) : no_memory();
}
SMALLOC_EXPORT void *realloc(void *old, size_t bytes) {
  auto *f = next_realloc.get();
  if (!f)
    return no_memory();
  void *p = f(old, bytes);
  if (SMALLOC_LIKELY(trace::recording())) {
    if (p)
      trace::note_reallocate(p, bytes, old, CALLER);
    else {
      trace::forget_announced();
      if (old && bytes == 0)
        trace::note_free(old);
    }
  }
  return p;
}
SMALLOC_EXPORT void *reallocarray(void *old, size_t count, size_t bytes) {
  size_t total;
  if (__builtin_mul_overflow(count, bytes, &total))
    return noted(no_memory(), 0, nullptr); // so that a next allocation is not taken for this site's
  if (trace::recording())
    trace::announce_caller(CALLER);
  return realloc(old, total);
}
SMALLOC_EXPORT void *memalign(size_t alignment, size_t bytes) {
  auto *f = next_memalign.get();
  return f ? noted(f(alignment, bytes), bytes, CALLER) : no_memory();
}
SMALLOC_EXPORT void *aligned_alloc(size_t alignment, size_t bytes) {
  auto *f = next_aligned_alloc.get();
  return f ? noted(f(alignment, bytes), bytes, CALLER) : no_memory();
}
SMALLOC_EXPORT int posix_memalign(void **out, size_t alignment, size_t bytes) {
  auto *f = next_posix_memalign.get();
  if (!f)
    return ENOMEM;
  const int error = f(out, alignment, bytes);
  noted(error == 0 ? *out : nullptr, bytes, CALLER);
  return error;
}
SMALLOC_EXPORT void *valloc(size_t bytes) {
  auto *f = next_valloc.get();
  return f ? noted(f(bytes), bytes, CALLER) : no_memory();
}
SMALLOC_EXPORT void *pvalloc(size_t bytes) {
  auto *f = next_pvalloc.get();
  return f ? noted(f(bytes), bytes, CALLER) : no_memory();
}

// operator new of the C++ runtime ends in malloc (or, for aligned forms, in aligned_alloc or
// posix_memalign). libsmalloc's takes memory itself: then the allocation is recorded here. That of
// a program may hand out parts of a block, which is recorded as a whole; so nothing is recorded for
// it. If no library defines it, the process has no C++ and nothing calls it.
#define OPERATOR_NEW(symbol, parameters, ...)                                                      \
  SMALLOC_EXPORT void *symbol parameters {                                                         \
    static constinit NextFunction<void *parameters> next(#symbol);                                 \
    static constinit NewForm form;                                                                 \
    auto *f = next.get();                                                                          \
    if (!f)                                                                                        \
      __builtin_trap();                                                                            \
    if (!SMALLOC_LIKELY(trace::recording()))                                                       \
      return f(__VA_ARGS__);                                                                       \
    trace::announce_caller(CALLER);                                                                \
    return noted_new(f(__VA_ARGS__), n, form.is_libsmallocs(reinterpret_cast<const void *>(f)),    \
                     CALLER);                                                                      \
  }
OPERATOR_NEW(_Znwm, (size_t n), n)
OPERATOR_NEW(_Znam, (size_t n), n)
OPERATOR_NEW(_ZnwmRKSt9nothrow_t, (size_t n, const void *t), n, t)
OPERATOR_NEW(_ZnamRKSt9nothrow_t, (size_t n, const void *t), n, t)
OPERATOR_NEW(_ZnwmSt11align_val_t, (size_t n, size_t a), n, a)
OPERATOR_NEW(_ZnamSt11align_val_t, (size_t n, size_t a), n, a)
OPERATOR_NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t n, size_t a, const void *t), n, a, t)
OPERATOR_NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t n, size_t a, const void *t), n, a, t)

// The plugin's entries. The value `nothing` ("nothing done") makes the thunk call the program's own
// function.
#define ENTRY(symbol, parameters, nothing, ...)                                                    \
  SMALLOC_EXPORT decltype(nothing) symbol parameters {                                             \
    if (SMALLOC_LIKELY(trace::recording())) {                                                      \
      trace::announce_site(cell);                                                                  \
      return nothing;                                                                              \
    }                                                                                              \
    static constinit NextFunction<decltype(nothing) parameters> next(#symbol);                     \
    auto *f = next.get();                                                                          \
    return f ? f(__VA_ARGS__) : nothing;                                                           \
  }
using Pointer = void *;
ENTRY(__smalloc_v1_malloc, (size_t n, smalloc_cell *cell), Pointer{}, n, cell)
ENTRY(__smalloc_v1_calloc, (size_t c, size_t n, smalloc_cell *cell), Pointer{}, c, n, cell)
ENTRY(__smalloc_v1_realloc, (void *p, size_t n, smalloc_cell *cell), Pointer{}, p, n, cell)
ENTRY(__smalloc_v1_aligned_alloc, (size_t a, size_t n, smalloc_cell *cell), Pointer{}, a, n, cell)
ENTRY(__smalloc_v1_posix_memalign, (void **o, size_t a, size_t n, smalloc_cell *cell), -1, o, a, n,
      cell)
ENTRY(__smalloc_v1_new, (size_t n, smalloc_cell *cell), Pointer{}, n, cell)
ENTRY(__smalloc_v1_new_aligned, (size_t n, size_t a, smalloc_cell *cell), Pointer{}, n, a, cell)
// flang's runtime allocates if the entry has done nothing.
ENTRY(__smalloc_v1_fortran_allocate, (void *descriptor, smalloc_cell *cell), -1, descriptor, cell)
ENTRY(__smalloc_v1_fortran_source, (void *to, const void *from, smalloc_cell *cell), -1, to, from,
      cell)
ENTRY(__smalloc_v1_fortran_copy_in, (void *copy, const void *section, smalloc_cell *cell), -1, copy,
      section, cell)

/// Announces the site if the assignment allocates. flang's runtime may first copy operands that
/// overlap; the copy's memory then has the site's name as well.
SMALLOC_EXPORT void __smalloc_v1_fortran_assign(void *to, const void *from, smalloc_cell *cell) {
  if (SMALLOC_LIKELY(trace::recording())) {
    if (fortran::assignment_allocates(*static_cast<const fortran::Descriptor *>(to),
                                      *static_cast<const fortran::Descriptor *>(from)))
      trace::announce_site(cell);
    return;
  }
  static constinit NextFunction<void(void *, const void *, smalloc_cell *)> next(
      "__smalloc_v1_fortran_assign");
  if (auto *f = next.get())
    f(to, from, cell);
}

SMALLOC_EXPORT void __smalloc_v1_mapped(void *p, size_t bytes, smalloc_cell *cell) {
  if (SMALLOC_LIKELY(trace::recording())) {
    trace::note_mapped(p, bytes, cell);
    return;
  }
  static constinit NextFunction<void(void *, size_t, smalloc_cell *)> next("__smalloc_v1_mapped");
  if (auto *f = next.get())
    f(p, bytes, cell);
}
SMALLOC_EXPORT int munmap(void *p, size_t bytes) {
  static constinit NextFunction<int(void *, size_t)> next("munmap");
  if (trace::recording())
    trace::note_unmapped(p, bytes);
  auto *f = next.get();
  return f ? f(p, bytes) : static_cast<int>(syscall(SYS_munmap, p, bytes));
}
SMALLOC_EXPORT void *mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...) {
  static constinit NextFunction<void *(void *, size_t, size_t, int, ...)> next("mremap");
  void *place = nullptr;
  if (flags & MREMAP_FIXED) {
    va_list rest;
    va_start(rest, flags);
    place = va_arg(rest, void *);
    va_end(rest);
  }
  auto *f = next.get();
  void *p = f ? f(old, old_bytes, bytes, flags, place)
              : reinterpret_cast<void *>(syscall(SYS_mremap, old, old_bytes, bytes, flags, place));
  if (p != MAP_FAILED && trace::recording())
    trace::note_remapped(old, old_bytes, p, bytes);
  return p;
}

/// Sets the word of every site to "base pages" while recording. With a word of 0 the thunk would
/// call malloc without an entry. libsmalloc is not called, so it learns of no image.
SMALLOC_EXPORT void __smalloc_v1_register_module(smalloc_module *module) {
  static constinit NextFunction<void(smalloc_module *)> next("__smalloc_v1_register_module");
  if (!trace::recording()) {
    if (auto *f = next.get())
      f(module);
    return;
  }
  if (!module || module->version != SMALLOC_ABI_VERSION)
    return;
  const auto *at = static_cast<const char *>(module->sites_start);
  const auto *stop = static_cast<const char *>(module->sites_stop);
  while (at && at + SMALLOC_SITE_LEAST_BYTES <= stop) {
    const auto *site = reinterpret_cast<const smalloc_site *>(at);
    if (site->magic != SMALLOC_SITE_MAGIC) {
      at += 8; // padding between the units' parts of the section
      continue;
    }
    if (site->version == SMALLOC_ABI_VERSION && site->cell_offset != 0) {
      auto *cell = reinterpret_cast<smalloc_cell *>(const_cast<char *>(at) + site->cell_offset);
      __atomic_store_n(&cell->word,
                       SMALLOC_WORD(SMALLOC_DECISION_BASE, 0, 12, SMALLOC_BY_COMPILER, 0),
                       __ATOMIC_RELAXED);
    }
    at += site->record_bytes >= SMALLOC_SITE_LEAST_BYTES ? (site->record_bytes + 7u) & ~7u
                                                         : SMALLOC_SITE_LEAST_BYTES;
  }
}
SMALLOC_EXPORT void __smalloc_v1_unregister_module(smalloc_module *module) {
  static constinit NextFunction<void(smalloc_module *)> next("__smalloc_v1_unregister_module");
  if (auto *f = next.get())
    f(module);
}

/// Ends the recording and then the process. _exit and _Exit run no destructors; shells end this
/// way. (A child of vfork is not the recorded process.)
SMALLOC_EXPORT void _exit(int status) {
  static constinit NextFunction<void(int)> next("_exit");
  trace::finish();
  if (auto *f = next.get())
    f(status);
  __builtin_trap();
}
SMALLOC_EXPORT void _Exit(int status) { _exit(status); }

/// Marks by its presence that a collector is loaded: libsmalloc looks for this symbol.
SMALLOC_EXPORT void __smalloc_v1_collector() {}

/// Records a phase marker that the program sets: smalloc_phase("solve").
SMALLOC_EXPORT void smalloc_phase(const char *name) {
  if (name && trace::recording())
    trace::note_phase(name);
}
