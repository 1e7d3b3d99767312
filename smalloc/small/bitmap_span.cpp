// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bitmap_span.cpp finds free runs of granules, and takes and frees them.
#include "smalloc/small/bitmap_span.h"

#include "smalloc/base/units.h"

namespace smalloc {

const unsigned BitmapSpan::kFirst = (sizeof(BitmapSpan) + kGranuleBytes - 1) / kGranuleBytes;

void BitmapSpan::init() {
  for (Word &word : words_) {
    word.used.store(0, std::memory_order_relaxed);
    word.ends.store(0, std::memory_order_relaxed);
  }
  for (uint64_t &words : full_)
    words = 0;
  set_used(0, kFirst, true);
  set_end(kFirst - 1, true);
  free_ = longest_ = kGranules - kFirst;
  cursor_ = kFirst;
  freed_ = longest_freed_ = 0;
  next = previous = nullptr;
  list = 0;
}

/// Returns the first free granule from `g` on; kGranules: there is none.
unsigned BitmapSpan::next_free(unsigned g) const {
  if (g >= kGranules)
    return kGranules;
  unsigned i = g / 64;
  uint64_t bits = ~words_[i].used.load(std::memory_order_relaxed) >> g % 64 << g % 64;
  while (!bits) {
    i++;
    uint64_t open = 0; // words with a free granule
    while (i < kWords && !(open = ~full_[i / 64] >> i % 64))
      i = i / 64 * 64 + 64;
    if (i >= kWords)
      return kGranules;
    i += static_cast<unsigned>(__builtin_ctzll(open));
    bits = ~words_[i].used.load(std::memory_order_relaxed);
  }
  return i * 64 + static_cast<unsigned>(__builtin_ctzll(bits));
}
/// Returns the first granule from `g` on that is in use; kGranules: there is none.
unsigned BitmapSpan::next_used(unsigned g) const {
  if (g >= kGranules)
    return kGranules;
  unsigned i = g / 64;
  uint64_t bits = words_[i].used.load(std::memory_order_relaxed) >> g % 64 << g % 64;
  while (!bits) {
    if (++i == kWords)
      return kGranules;
    bits = words_[i].used.load(std::memory_order_relaxed);
  }
  return i * 64 + static_cast<unsigned>(__builtin_ctzll(bits));
}

/// Returns the first granule of the free run that ends in front of `g`; `g` if that one is in use.
unsigned BitmapSpan::run_start(unsigned g) const {
  unsigned i = g / 64;
  uint64_t bits = g % 64 ? words_[i].used.load(std::memory_order_relaxed) << (64 - g % 64) : 0;
  if (bits) // granule 0 is in use, so the search ends
    return g - static_cast<unsigned>(__builtin_clzll(bits));
  do
    bits = words_[--i].used.load(std::memory_order_relaxed);
  while (!bits);
  return i * 64 + 64 - static_cast<unsigned>(__builtin_clzll(bits));
}

void BitmapSpan::set_used(unsigned g, unsigned n, bool in_use) {
  while (n) {
    const unsigned here = min_of(n, 64 - g % 64);
    const uint64_t bits = (here == 64 ? ~uint64_t{0} : (uint64_t{1} << here) - 1) << g % 64;
    std::atomic<uint64_t> &word = words_[g / 64].used;
    const uint64_t old = word.load(std::memory_order_relaxed);
    const uint64_t now = in_use ? old | bits : old & ~bits, bit = uint64_t{1} << g / 64 % 64;
    word.store(now, std::memory_order_relaxed);
    full_[g / 64 / 64] = ~now ? full_[g / 64 / 64] & ~bit : full_[g / 64 / 64] | bit;
    g += here;
    n -= here;
  }
}
void BitmapSpan::set_end(unsigned g, bool is_end) {
  std::atomic<uint64_t> &word = words_[g / 64].ends;
  const uint64_t bit = uint64_t{1} << g % 64, old = word.load(std::memory_order_relaxed);
  word.store(is_end ? old | bit : old & ~bit, std::memory_order_relaxed);
}

bool BitmapSpan::starts_object(unsigned g) const {
  return g >= kFirst && used(g) && (ends(g - 1) || !used(g - 1));
}

unsigned BitmapSpan::take(unsigned n, unsigned most, void **objects) {
  unsigned taken = 0, seen = 0;
  const unsigned start = cursor_;
  bool wrapped = false;
  for (unsigned g = start; longest_ >= n;) {
    const unsigned run = next_free(g);
    if (wrapped ? run >= start : run == kGranules) {
      if (wrapped) {
        longest_ = seen; // all runs were examined
        freed_ = longest_freed_ = 0;
        break;
      }
      wrapped = true;
      g = kFirst;
      continue;
    }
    const unsigned end = next_used(run), fit = min_of(most - taken, (end - run) / n);
    for (unsigned k = 0; k < fit; k++) {
      set_end(run + (k + 1) * n - 1, true);
      objects[taken++] = address(run + k * n);
    }
    set_used(run, fit * n, true);
    if (taken == most) {
      cursor_ = run + fit * n;
      break;
    }
    seen = max_of(seen, end - run - fit * n);
    g = end;
  }
  free_ -= taken * n;
  return taken;
}

bool BitmapSpan::give(const void *p) {
  const unsigned g = granule(p), n = granules_of(p);
  if (!n || !starts_object(g))
    return false;
  set_used(g, n, false);
  set_end(g + n - 1, false);
  free_ += n;
  note_freed(n, next_used(g + n) - run_start(g));
  return true;
}

void BitmapSpan::note_freed(unsigned n, unsigned run) {
  freed_ += n;
  longest_freed_ = max_of(longest_freed_, run);
  if (freed_ < kWorthASearch && !is_empty())
    return;
  longest_ = max_of(longest_, longest_freed_);
  freed_ = longest_freed_ = 0;
}

bool BitmapSpan::resize(const void *p, unsigned granules) {
  const unsigned g = granule(p), n = granules_of(p);
  if (granules > n && next_used(g + n) < g + granules)
    return false;
  if (g + granules > kGranules)
    return false;
  set_end(g + granules - 1, true);
  if (granules != n)
    set_end(g + n - 1, false);
  free_ += n - granules;
  if (granules > n) {
    set_used(g + n, granules - n, true);
  } else if (granules < n) {
    set_used(g + granules, n - granules, false);
    note_freed(n - granules, next_used(g + n) - (g + granules));
  }
  return true;
}

} // namespace smalloc
