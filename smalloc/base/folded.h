// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// folded.h decides how a fast path reads a word that is written once or hardly ever: with the
// instruction that uses it, where the compiler can do that.
#ifndef SMALLOC_BASE_FOLDED_H
#define SMALLOC_BASE_FOLDED_H

#include <atomic>

namespace smalloc {

/// A relaxed load that GCC folds into the instruction that uses it, as it does not with an atomic's. Reading such a word
/// twice gives the same.
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
