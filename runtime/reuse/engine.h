// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// engine.h decides what every way of measuring reuse distance offers: pages go in, misses of a
// fully associative LRU TLB (or memory) of any capacity come out.
//
// The reuse distance of an access is the number of distinct pages used since the last access to the
// same page; of a first access it is infinite (`a b c c a`: the second a has 2). With H(d) accesses
// of distance d, a TLB of C entries hits sum of H(d) for d < C, and misses the rest (Mattson 1970;
// Cascaval et al. 2005, equation 1).
//
// A page is an opaque number: the caller shifts addresses, one engine for each page size, since the
// LRU order changes with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace smalloc::reuse {

class Engine {
public:
  virtual ~Engine() = default;
  /// Pages in the order of their use, from the same stream as those of earlier calls.
  virtual void access(std::span<const uint64_t> pages) = 0;
  /// Accesses so far, those that sampling left out included.
  virtual double accesses() const = 0;
  /// Misses among them with `capacity` entries, first accesses included; an estimate where the
  /// engine samples or models.
  virtual double misses(uint64_t capacity) const = 0;
  /// What the engine holds now.
  virtual size_t memory_bytes() const = 0;

  double miss_ratio(uint64_t capacity) const {
    const double n = accesses();
    return n > 0 ? misses(capacity) / n : 0;
  }
};

} // namespace smalloc::reuse
