// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// folded.h provides folded(), a relaxed load for words that are written once or hardly ever. The
// compiler may use the word as a memory operand of the instruction that needs it, which saves a
// register on a fast path.
#ifndef SMALLOC_BASE_FOLDED_H
#define SMALLOC_BASE_FOLDED_H

#include <atomic>

namespace smalloc {

/// Returns the value of `word`, as a relaxed load does. GCC folds this read into the instruction
/// that uses it, which it does not do for std::atomic's load. The compiler may read `word` more
/// than once, so `word` must hardly ever change.
template <class T> inline T folded(const std::atomic<T> &word) {
#if defined(__SANITIZE_THREAD__) || defined(__clang__)
  return word.load(std::memory_order_relaxed);
#else
  static_assert(sizeof word == sizeof(T));
  return *reinterpret_cast<const T *>(&word);
#endif
}

} // namespace smalloc
#endif
