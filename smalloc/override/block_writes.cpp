// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// block_writes.cpp defines memset, memcpy and memmove, and their forms with -D_FORTIFY_SOURCE. A
// call that writes a superpage or more is a fill point: what it writes gets superpages before the
// first touch. C++ containers write their memory in this way: std::vector<double> v(n) by memset,
// growth by memmove. A program without the plugin has no other fill points. A call for fewer bytes
// costs a comparison and a jump more. All continue in the C library's function.
//
// This file is compiled with -fno-builtin: the compiler would turn the loops below into calls of
// the functions that it defines.
#include "smalloc/base/folded.h"
#include "smalloc/base/units.h"
#include "smalloc/core/runtime.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

namespace smalloc {
namespace {
using Set = void *(void *, int, size_t);
using Move = void *(void *, const void *, size_t);
using CheckedSet = void *(void *, int, size_t, size_t);
using CheckedMove = void *(void *, const void *, size_t, size_t);

// These serve until find_next() has run.
void *set_bytes(void *to, int value, size_t bytes) {
  auto *p = static_cast<unsigned char *>(to);
  for (size_t i = 0; i < bytes; i++)
    p[i] = static_cast<unsigned char>(value);
  return to;
}
void *move_bytes(void *to, const void *from, size_t bytes) {
  auto *p = static_cast<unsigned char *>(to);
  auto *q = static_cast<const unsigned char *>(from);
  if (p <= q)
    for (size_t i = 0; i < bytes; i++)
      p[i] = q[i];
  else
    for (size_t i = bytes; i-- > 0;)
      p[i] = q[i];
  return to;
}
void *set_checked(void *to, int value, size_t bytes, size_t room) {
  return bytes > room ? (abort(), nullptr) : set_bytes(to, value, bytes);
}
void *move_checked(void *to, const void *from, size_t bytes, size_t room) {
  return bytes > room ? (abort(), nullptr) : move_bytes(to, from, bytes);
}

/// Holds the definition of a function that follows libsmalloc's in load order.
template <class F> class Next {
public:
  constexpr explicit Next(F *until_found) : function_(until_found) {}
  void find(const char *name) {
    if (void *f = dlsym(RTLD_NEXT, name))
      function_.store(reinterpret_cast<F *>(f), std::memory_order_relaxed);
  }
  const std::atomic<F *> &get() const { return function_; }

private:
  std::atomic<F *> function_;
};
constinit Next<Set> next_set(set_bytes);
constinit Next<Move> next_move(move_bytes);
constinit Next<CheckedSet> next_checked_set(set_checked);
constinit Next<CheckedMove> next_checked_move(move_checked);

// dlsym, because these functions of glibc are indirect: NextFunction would find their resolvers.
// glibc has all of them, so dlsym leaves no error text behind.
__attribute__((constructor(101))) void find_next() {
  next_set.find("memset");
  next_move.find("memmove");
  next_checked_set.find("__memset_chk");
  next_checked_move.find("__memmove_chk");
}

// Separate, so that calls with fewer bytes save no register. `room`: none, or that of the forms of
// -D_FORTIFY_SOURCE.
template <auto &next, class Source, class... Room>
__attribute__((noinline)) void *write_block(void *to, Source source, size_t bytes, Room... room) {
  g_runtime.filling(to, bytes, bytes);
  return folded(next.get())(to, source, bytes, room...);
}

template <auto &next, class Source, class... Room>
__attribute__((always_inline)) inline void *write(void *to, Source source, size_t bytes,
                                                  Room... room) {
  return SMALLOC_UNLIKELY(bytes >= kSuperpageBytes)
             ? write_block<next>(to, source, bytes, room...)
             : folded(next.get())(to, source, bytes, room...);
}
} // namespace
} // namespace smalloc

using namespace smalloc;

SMALLOC_EXPORT void *memset(void *to, int value, size_t bytes) {
  return write<next_set>(to, value, bytes);
}
SMALLOC_EXPORT void *memmove(void *to, const void *from, size_t bytes) {
  return write<next_move>(to, from, bytes);
}
// Programs linked before glibc 2.14 have memcpy@GLIBC_2.2.5, which may be given overlapping ranges.
SMALLOC_EXPORT void *memcpy(void *__restrict to, const void *__restrict from, size_t bytes) {
  return write<next_move>(to, from, bytes);
}
SMALLOC_EXPORT void *__memset_chk(void *to, int value, size_t bytes, size_t room) {
  return write<next_checked_set>(to, value, bytes, room);
}
SMALLOC_EXPORT void *__memmove_chk(void *to, const void *from, size_t bytes, size_t room) {
  return write<next_checked_move>(to, from, bytes, room);
}
SMALLOC_EXPORT void *__memcpy_chk(void *__restrict to, const void *__restrict from, size_t bytes,
                                  size_t room) {
  return write<next_checked_move>(to, from, bytes, room);
}
