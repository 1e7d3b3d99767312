// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// smalloc.hpp is the C++ interface of libsmalloc: an allocator for containers and a memory resource
// for polymorphic ones, both over smalloc.h. Header only; link with -lsmalloc.
//
//   // Whole superpages, base pages for the tail:
//   std::vector<double, smalloc::allocator<double>> v(1 << 27);
//   // Chosen at run time:
//   std::pmr::vector<int> w(smalloc::memory_resource(SMALLOC_SUPERPAGE));
//
// It works with -fno-rtti and -fno-exceptions. Without exceptions, lack of memory ends the program,
// as in libstdc++'s own operator new.
#ifndef SMALLOC_SMALLOC_HPP
#define SMALLOC_SMALLOC_HPP

#include <smalloc/smalloc.h>

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <memory_resource>
#include <new>

namespace smalloc {
namespace detail {
#ifdef __cpp_exceptions
[[noreturn]] inline void no_memory() { throw std::bad_alloc(); }
[[noreturn]] inline void no_such_size() { throw std::bad_array_new_length(); }
#else
[[noreturn]] inline void no_memory() { std::abort(); }
[[noreturn]] inline void no_such_size() { std::abort(); }
#endif
} // namespace detail

/// Minimal allocator (C++17 named requirements). Stateless; all instances of one page kind are
/// equal. Throws std::bad_alloc without memory, and std::bad_array_new_length if the size of n
/// objects overflows.
template <class T, smalloc_pages Pages = SMALLOC_BOTH> class allocator {
public:
  using value_type = T;
  template <class U> struct rebind {
    using other = allocator<U, Pages>;
  };

  allocator() noexcept = default;
  template <class U> allocator(const allocator<U, Pages> &) noexcept {}

  [[nodiscard]] T *allocate(std::size_t n) {
    if (n > std::numeric_limits<std::size_t>::max() / sizeof(T))
      detail::no_such_size();
    void *p = alignof(T) > alignof(std::max_align_t) ? smemalign(alignof(T), n * sizeof(T), Pages)
                                                     : smalloc_malloc(n * sizeof(T), Pages);
    if (!p)
      detail::no_memory();
    return static_cast<T *>(p);
  }
  void deallocate(T *p, std::size_t) noexcept { sfree(p); }

  template <class U> bool operator==(const allocator<U, Pages> &) const noexcept { return true; }
  template <class U> bool operator!=(const allocator<U, Pages> &) const noexcept { return false; }
};

/// A memory resource of one page kind; resources of the same kind are equal.
class page_resource final : public std::pmr::memory_resource {
public:
  explicit page_resource(smalloc_pages pages) noexcept : pages_(pages) {}

private:
  void *do_allocate(std::size_t bytes, std::size_t alignment) override {
    void *p = smemalign(alignment, bytes, pages_);
    if (!p)
      detail::no_memory();
    return p;
  }
  void do_deallocate(void *p, std::size_t, std::size_t) override { sfree(p); }
  bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override {
#ifdef __cpp_rtti
    auto *same = dynamic_cast<const page_resource *>(&other);
    return same && same->pages_ == pages_;
#else
    return this == &other; // without RTTI the type of another resource is unknown
#endif
  }

  smalloc_pages pages_;
};

/// Returns the program's one resource of a kind; it lives until the program ends.
inline std::pmr::memory_resource *memory_resource(smalloc_pages pages = SMALLOC_BOTH) {
  static page_resource base(SMALLOC_BASE), superpage(SMALLOC_SUPERPAGE), both(SMALLOC_BOTH);
  return pages == SMALLOC_BASE ? &base : pages == SMALLOC_SUPERPAGE ? &superpage : &both;
}

} // namespace smalloc
#endif
