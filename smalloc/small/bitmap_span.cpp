// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bitmap_span.cpp keeps the bits of objects and the lengths of listed runs.
#include "smalloc/small/bitmap_span.h"

namespace smalloc {

const unsigned BitmapSpan::kHeader = (sizeof(BitmapSpan) + kGranuleBytes - 1) / kGranuleBytes;

void BitmapSpan::init() {
  in_unlisted_list = false;
  for (uint64_t &words : unlisted_words_)
    words = ~uint64_t{0};
  for (Word &word : words_) {
    word.used.store(0, std::memory_order_relaxed);
    word.ends.store(0, std::memory_order_relaxed);
  }
  const unsigned g = granule(this);
  set(g, kHeader, true, false);
  set_end(g + kHeader - 1, true);
  free_ = kGranules - kHeader;
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

FreeRun *BitmapSpan::list_run(void *at, unsigned length) {
  set(granule(at), length, false, true);
  return write_run(at, length);
}

unsigned BitmapSpan::length_of(const FreeRun *run) {
  const BitmapSpan *span = of(run);
  const unsigned g = granule(run);
  return g + 1 == kGranules || !span->listed(g + 1) ? 1 : static_cast<unsigned>(run->length);
}

FreeRun *BitmapSpan::run_before(const void *p) {
  const unsigned g = granule(p);
  if (g == 0 || !listed(g - 1))
    return nullptr;
  const unsigned length =
      g > 1 && listed(g - 2) ? static_cast<unsigned>(length_at_end(address(g))) : 1;
  return static_cast<FreeRun *>(address(g - length));
}

FreeRun *BitmapSpan::run_at(void *p) {
  // One past the span's last granule is the next span's first address.
  return of(p) == this && listed(granule(p)) ? static_cast<FreeRun *>(p) : nullptr;
}

void BitmapSpan::set(unsigned g, unsigned n, bool in_use, bool is_end) {
  while (n) {
    const unsigned here = min_of(n, 64 - g % 64);
    const uint64_t bits = (here == 64 ? ~uint64_t{0} : (uint64_t{1} << here) - 1) << g % 64;
    Word &word = words_[g / 64];
    const uint64_t used = word.used.load(std::memory_order_relaxed),
                   ends = word.ends.load(std::memory_order_relaxed);
    word.used.store(in_use ? used | bits : used & ~bits, std::memory_order_relaxed);
    word.ends.store(is_end ? ends | bits : ends & ~bits, std::memory_order_relaxed);
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
  return p != this && used(g) && (g == 0 || ends(g - 1) || !used(g - 1));
}

FreeRun *BitmapSpan::take(FreeRun *run, unsigned length, unsigned n, unsigned count) {
  const unsigned g = granule(run);
  set(g, n * count, true, false);
  for (unsigned k = 1; k <= count; k++)
    set_end(g + k * n - 1, true);
  free_ -= n * count;
  return length == n * count ? nullptr : write_run(address(g + n * count), length - n * count);
}

void BitmapSpan::free_object(void *p, unsigned n) {
  set(granule(p), n, false, false);
  note_unlisted(granule(p), n);
  free_ += n;
}

void BitmapSpan::join_objects(void *p, unsigned n) { set_end(granule(p) + n - 1, false); }

void BitmapSpan::free_end(void *p, unsigned had, unsigned n) {
  const unsigned g = granule(p);
  set_end(g + n - 1, true);
  set(g + n, had - n, false, false);
  note_unlisted(g + n, had - n);
  free_ += had - n;
}

void BitmapSpan::note_unlisted(unsigned g, unsigned n) {
  for (unsigned word = g / 64; word <= (g + n - 1) / 64; word++)
    unlisted_words_[word / 64] |= uint64_t{1} << word % 64;
}
void BitmapSpan::all_listed() {
  for (uint64_t &words : unlisted_words_)
    words = 0;
}

/// Returns the free granules of a word that are in listed runs, or those that are in none.
uint64_t BitmapSpan::free_bits(unsigned word, bool in_run) const {
  const uint64_t ends = words_[word].ends.load(std::memory_order_relaxed);
  return ~words_[word].used.load(std::memory_order_relaxed) & (in_run ? ends : ~ends);
}
/// Counts such granules from `g` on, up to the first other one.
unsigned BitmapSpan::count_free(unsigned g, bool in_run) const {
  const unsigned start = g;
  while (g < kGranules) {
    if (const uint64_t other = ~free_bits(g / 64, in_run) >> g % 64)
      return g + static_cast<unsigned>(__builtin_ctzll(other)) - start;
    g += 64 - g % 64;
  }
  return kGranules - start;
}

/// Returns the first word from `word` on that may have such granules; kWords: there is none.
unsigned BitmapSpan::next_word(unsigned word, bool in_run) const {
  if (in_run)
    return word;
  for (; word < kWords; word = word / 64 * 64 + 64)
    if (const uint64_t noted = unlisted_words_[word / 64] >> word % 64)
      return word + static_cast<unsigned>(__builtin_ctzll(noted));
  return kWords;
}

void *BitmapSpan::next_free(unsigned &from, unsigned &length, bool in_run) {
  length = 0;
  for (unsigned word = next_word(from / 64, in_run); word < kWords;
       word = next_word(word + 1, in_run)) {
    uint64_t bits = free_bits(word, in_run);
    if (word == from / 64)
      bits &= ~uint64_t{0} << from % 64;
    if (bits) {
      const unsigned g = word * 64 + static_cast<unsigned>(__builtin_ctzll(bits));
      length = count_free(g, in_run);
      from = g + length;
      return address(g);
    }
  }
  return nullptr;
}

} // namespace smalloc
