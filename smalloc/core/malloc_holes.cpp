// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// malloc_holes.cpp decides from when on holes are too many, and when they are few again: at an eighth of that, so that sites
// do not go to and fro with every sample.
#include "smalloc/core/malloc_holes.h"

namespace smalloc {

constinit MallocHoles g_malloc_holes;

/// What was there before nobody has counted, so less than nothing may seem to be left.
void MallocHoles::add(std::atomic<uint64_t> &to, int64_t bytes) {
  uint64_t seen = to.load(std::memory_order_relaxed), now;
  do {
    now = bytes < 0 ? seen - min_of(seen, static_cast<uint64_t>(-bytes))
                    : seen + static_cast<uint64_t>(bytes);
  } while (!to.compare_exchange_weak(seen, now, std::memory_order_relaxed));
}

/// What was freed long ago counts half each time that kLately more has been.
void MallocHoles::note_size(size_t bytes, uint64_t stands_for) {
  lately_[size_index(bytes, kSizes)].fetch_add(stands_for, std::memory_order_relaxed);
  if (all_lately_.fetch_add(stands_for, std::memory_order_relaxed) + stands_for < 2 * kLately)
    return;
  all_lately_.store(all_lately_.load(std::memory_order_relaxed) / 2, std::memory_order_relaxed);
  for (auto &size : lately_)
    size.store(size.load(std::memory_order_relaxed) / 2, std::memory_order_relaxed);
}

bool MallocHoles::are_of(size_t bytes) const {
  const unsigned index = size_index(align_up(bytes + 8, 16) - 8, kSizes);
  const uint64_t all = all_lately_.load(std::memory_order_relaxed);
  return index < kSizes - 1 && all >= kLeastBytes &&
         lately_[index].load(std::memory_order_relaxed) >= all / 8 * 7;
}

void MallocHoles::given_back(uint64_t bytes) {
  const uint64_t had = max_of<uint64_t>(this->bytes(), 1), part = min_of(bytes, had);
  for (auto &size : by_size_)
    add(size, -static_cast<int64_t>(size.load(std::memory_order_relaxed) * (part * 64 / had) / 64));
  add(bytes_, -static_cast<int64_t>(bytes));
  after_trim_.store(this->bytes(), std::memory_order_relaxed);
}

static uint64_t most_holes(uint64_t ours) {
  return max_of(MallocHoles::kLeastBytes, ours / MallocHoles::kShare);
}

/// What is counted there may have been taken by others, whom nobody counts: an eighth of it is forgotten, or of a thread's share,
/// and half of what is of that size.
uint64_t MallocHoles::no_place(uint64_t ours, unsigned threads, size_t place) {
  threads = max_of(threads, 1u);
  std::atomic<uint64_t> &of_size = by_size_[fit_index(place)];
  add(of_size, -static_cast<int64_t>(of_size.load(std::memory_order_relaxed) / 2 / threads));
  add(bytes_, -static_cast<int64_t>(bytes() / 8 / threads));
  return freed() + most_holes(ours);
}

bool MallocHoles::fit(size_t place, uint64_t ours, bool again) const {
  const unsigned index = fit_index(place);
  const uint64_t least = most_holes(ours) / 4;
  return index < kFitSizes - 1 &&
         by_size_[index].load(std::memory_order_relaxed) >= (again ? least / 8 : least);
}

bool MallocHoles::wanted(uint64_t ours) {
  const uint64_t most = most_holes(ours), have = bytes();
  const bool was = wanted_.load(std::memory_order_relaxed);
  const bool now = was ? have > most / 8 : have >= most;
  if (now != was)
    wanted_.store(now, std::memory_order_relaxed);
  return now;
}

uint64_t MallocHoles::may_fill(uint64_t own, bool again, uint64_t no_place_until, uint64_t ours) {
  if (own >= (again ? kLeastOwnBytes / 8 : kLeastOwnBytes))
    return min_of(own, kMostOwnBytes);
  return wanted(ours) && freed() >= no_place_until ? kOthersBytes : 0;
}

bool MallocHoles::trim_is_due() {
  const uint64_t have = bytes();
  if (have < after_trim_.load(std::memory_order_relaxed) / 2)
    after_trim_.store(have, std::memory_order_relaxed);
  return have >= kLeastTrimBytes && have >= 2 * after_trim_.load(std::memory_order_relaxed);
}

} // namespace smalloc
