// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// engine.h is the interface of all engines that measure reuse distances. An engine takes pages, and
// returns the misses of a fully associative LRU TLB (or memory) of any capacity.
//
// The reuse distance of an access is the number of distinct pages used since the last access to the
// same page; of a first access it is infinite (`a b c c a`: the second a has 2). Let H(d) be the
// number of accesses of distance d. A TLB of C entries hits sum of H(d) for d < C, and misses the
// rest (Mattson 1970; Cascaval et al. 2005, equation 1).
//
// A page is an opaque number; the caller shifts addresses. Each page size needs an engine of its
// own, since the LRU order changes with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace smalloc::reuse {

class Engine {
public:
  virtual ~Engine() = default;
  /// Takes pages in the order of their use; they continue the stream of earlier calls.
  virtual void access(std::span<const uint64_t> pages) = 0;
  /// Returns the accesses so far, including those that sampling left out.
  virtual double accesses() const = 0;
  /// Returns their misses with `capacity` entries, first accesses included. An estimate if the
  /// engine samples or models.
  virtual double misses(uint64_t capacity) const = 0;
  /// Returns the bytes that the engine holds now.
  virtual size_t memory_bytes() const = 0;

  double miss_ratio(uint64_t capacity) const {
    const double n = accesses();
    return n > 0 ? misses(capacity) / n : 0;
  }
};

} // namespace smalloc::reuse
