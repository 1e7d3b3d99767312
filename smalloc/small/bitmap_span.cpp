// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bitmap_span.cpp keeps the bits of objects and the lengths of free runs.
#include "smalloc/small/bitmap_span.h"

#include "smalloc/base/units.h"

namespace smalloc {

const unsigned BitmapSpan::kFirst = (sizeof(BitmapSpan) + kGranuleBytes - 1) / kGranuleBytes;

FreeRun *BitmapSpan::init() {
  for (Word &word : words_) {
    word.used.store(0, std::memory_order_relaxed);
    word.ends.store(0, std::memory_order_relaxed);
  }
  set_used(0, kFirst, true);
  set_end(kFirst - 1, true);
  free_ = kGranules - kFirst;
  return write_run(address(kFirst), free_);
}

/// Returns the last granule's second word, where a run of two and more granules repeats its length.
static uint64_t &length_at_end(void *end) { return static_cast<uint64_t *>(end)[-1]; }

FreeRun *BitmapSpan::write_run(void *at, unsigned length) {
  auto *run = static_cast<FreeRun *>(at);
  if (length > 1) {
    run->length = length;
    length_at_end(static_cast<char *>(at) + length * kGranuleBytes) = length;
  }
  return run;
}

unsigned BitmapSpan::length_of(const FreeRun *run) {
  const BitmapSpan *span = of(run);
  const unsigned g = granule(run);
  return g + 1 == kGranules || span->used(g + 1) ? 1 : static_cast<unsigned>(run->length);
}

FreeRun *BitmapSpan::run_before(const void *p) {
  const unsigned g = granule(p);
  if (used(g - 1)) // granule 0 is in use
    return nullptr;
  const unsigned length = used(g - 2) ? 1 : static_cast<unsigned>(length_at_end(address(g)));
  return static_cast<FreeRun *>(address(g - length));
}

FreeRun *BitmapSpan::run_at(void *p) {
  // One past the span's last granule is the next span's first address.
  return of(p) != this || used(granule(p)) ? nullptr : static_cast<FreeRun *>(p);
}

void BitmapSpan::set_used(unsigned g, unsigned n, bool in_use) {
  while (n) {
    const unsigned here = min_of(n, 64 - g % 64);
    const uint64_t bits = (here == 64 ? ~uint64_t{0} : (uint64_t{1} << here) - 1) << g % 64;
    std::atomic<uint64_t> &word = words_[g / 64].used;
    const uint64_t old = word.load(std::memory_order_relaxed);
    word.store(in_use ? old | bits : old & ~bits, std::memory_order_relaxed);
    g += here;
    n -= here;
  }
}
void BitmapSpan::set_end(unsigned g, bool is_end) {
  std::atomic<uint64_t> &word = words_[g / 64].ends;
  const uint64_t bit = uint64_t{1} << g % 64, old = word.load(std::memory_order_relaxed);
  word.store(is_end ? old | bit : old & ~bit, std::memory_order_relaxed);
}

bool BitmapSpan::starts_object(const void *p) const {
  const unsigned g = granule(p);
  return g >= kFirst && used(g) && (ends(g - 1) || !used(g - 1));
}

void BitmapSpan::mark_objects(void *p, unsigned n, unsigned count) {
  const unsigned g = granule(p);
  for (unsigned k = 1; k <= count; k++)
    set_end(g + k * n - 1, true);
  set_used(g, n * count, true);
  free_ -= n * count;
}

void BitmapSpan::clear_object(void *p, unsigned n) {
  const unsigned g = granule(p);
  set_used(g, n, false);
  set_end(g + n - 1, false);
  free_ += n;
}

void BitmapSpan::move_end(void *p, unsigned had, unsigned n) {
  const unsigned g = granule(p);
  set_end(g + n - 1, true);
  set_end(g + had - 1, false);
  if (n > had)
    set_used(g + had, n - had, true);
  else
    set_used(g + n, had - n, false);
  free_ += had - n;
}

} // namespace smalloc
