// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// region.cpp cuts the reserved range into slices, in 64ths, and handles refusals by the system.
// Slices of objects are generous, since address space is free.
#include "smalloc/pages/region.h"

#include <errno.h>

namespace smalloc {
namespace {
//                               tables meta small-base small-super class node big-base big-super
constexpr unsigned kShares[kSlices] = {2, 2, 6, 12, 6, 4, 16, 16};
constexpr unsigned kSharesTotal = 64;
/// The last unit of each slice stays unused, so that objects of two slices are never neighbours
/// that could be merged.
constexpr size_t kGuardBytes = kSuperpageBytes;

bool wants_superpages_at_first_touch(Slice s) {
  return s == Slice::kSmallSuper || s == Slice::kBigSuper;
}
} // namespace

bool Region::init(const Config &config, Counters &counters) {
  size_t bytes = align_down(config.bytes, kSharesTotal * kSuperpageBytes);
  if (bytes == 0)
    return false;
  void *range = config.os->reserve(bytes);
  if (!range)
    return false;
  config_ = config;
  counters_ = &counters;
  start_ = reinterpret_cast<uintptr_t>(range);
  uintptr_t at = start_;
  for (unsigned i = 0; i < kSlices; i++) {
    slice_start_[i] = at;
    at += bytes / kSharesTotal * kShares[i];
    cursor_[i].store(0, std::memory_order_relaxed);
    capacity_[i].store(at - slice_start_[i] - kGuardBytes, std::memory_order_relaxed);
    kept_end_[i].store(at, std::memory_order_relaxed);
    advised_[i].store(false, std::memory_order_relaxed);
  }
  slice_start_[kSlices] = at;
  bytes_ = bytes;
  budget_.init(*config.os, config.budget);
  charged_superpages_.set(config.charged_before);
  return true;
}

Slice Region::slice_of(const void *p) const {
  auto at = reinterpret_cast<uintptr_t>(p);
  unsigned i = kSlices - 1;
  while (at < slice_start_[i])
    i--;
  return static_cast<Slice>(i);
}

void Region::advise_slice(Slice s) {
  unsigned i = static_cast<unsigned>(s);
  if (advised_[i].exchange(true, std::memory_order_relaxed))
    return;
  int error = advise_range(s, reinterpret_cast<void *>(slice_start(s)),
                           kept_end_[i].load(std::memory_order_relaxed) - slice_start(s));
  if (error && wants_superpages_at_first_touch(s))
    advice_error_.store(error, std::memory_order_relaxed);
}

int Region::advise_range(Slice s, void *start, size_t bytes) {
  if (wants_superpages_at_first_touch(s)) {
    if (thp_allowed() || config_.medium_advice)
      return config_.os->advise(start, bytes, Advice::kSuperpages);
  } else if (config_.thp == ThpMode::kAlways) {
    // Without this advice the kernel gives each first touch a superpage. Unadvised slices exist to
    // avoid that waste.
    return config_.os->advise(start, bytes, Advice::kNoSuperpages);
  }
  return 0;
}

void Region::decommit(Slice s, char *start, size_t bytes) {
  config_.os->decommit(start, bytes);
  advise_range(s, start, bytes);
}

void *Region::table(size_t bytes) {
  return grow(Slice::kTables, align_up(bytes, kBasePageBytes), kBasePageBytes);
}

char *Region::grow(Slice s, size_t bytes, size_t alignment) {
  advise_slice(s);
  std::atomic<size_t> &cursor = cursor_[static_cast<unsigned>(s)];
  size_t seen = cursor.load(std::memory_order_relaxed), first, next;
  size_t step = alignment < kSuperpageBytes ? alignment : kSuperpageBytes;
  const size_t slack = s == Slice::kTables ? 0 : kSlackBytes; // no object lies there
  do {
    if (seen & kFrozen)
      return nullptr;
    const size_t capacity = capacity_[static_cast<unsigned>(s)].load();
    first = align_up(seen, alignment);
    if (bytes + slack > capacity || first > capacity - bytes - slack)
      return nullptr;
    next = align_up(first + bytes, step);
  } while (!cursor.compare_exchange_weak(seen, next, std::memory_order_relaxed));
  char *p = reinterpret_cast<char *>(slice_start(s) + first);
  if (config_.os->commit(p, bytes + slack) == 0)
    return p;
  // Restore the cursor, so that repeated requests (jemalloc retries at every miss) do not use up
  // the slice. This fails if another thread has advanced the cursor.
  cursor.compare_exchange_strong(next, seen, std::memory_order_relaxed);
  return nullptr;
}

size_t Region::share_of(Slice s, size_t bytes) {
  return align_down(bytes / kSharesTotal * kShares[static_cast<unsigned>(s)], kSuperpageBytes);
}

void Region::shrink(Slice s, size_t bytes) {
  const auto i = static_cast<unsigned>(s);
  const size_t handed_out = cursor_[i].fetch_or(kFrozen);
  // One page further: a thread that has read the cursor and capacity before must not find the same
  // cursor again.
  const size_t next = handed_out + kBasePageBytes;
  const size_t capacity = max_of(share_of(s, bytes), align_up(next, kSuperpageBytes));
  if (capacity < capacity_[i].load()) {
    capacity_[i].store(capacity);
    give_back(s, slice_start(s) + capacity);
    cursor_[i].store(next);
  } else {
    cursor_[i].store(handed_out);
  }
}

void Region::keep_units(Slice s, UnitIndex units) {
  const uintptr_t end = slice_start(s) + size_t{units} * kSuperpageBytes;
  if (end < kept_end_[static_cast<unsigned>(s)].load())
    give_back(s, end);
}

void Region::give_back(Slice s, uintptr_t kept_end) {
  const uintptr_t end = kept_end_[static_cast<unsigned>(s)].exchange(kept_end);
  config_.os->unreserve(reinterpret_cast<void *>(kept_end), end - kept_end);
}

bool Region::charge_superpages(uint64_t n, bool fresh, WhyNot *why) {
  if (!config_.superpages_allowed)
    return false;
  charged_superpages_.add(n);
  Budget::Answer answer = budget_.limited() ? budget_.allows(charged_superpages_.get(), n, fresh)
                                            : Budget::Answer::kYes;
  if (answer != Budget::Answer::kYes) {
    charged_superpages_.sub(n);
    if (why)
      *why = answer == Budget::Answer::kCgroupFull ? WhyNot::kLimit : WhyNot::kBudget;
    if (answer == Budget::Answer::kOverBudget)
      short_.store(true, std::memory_order_relaxed);
    return false;
  }
  return true;
}

void Region::got_superpages(uint64_t n) {
  counters_->superpages_now.add(n);
  counters_->superpages_peak.raise(counters_->superpages_now.get());
}

void Region::lost_superpages(uint64_t n) {
  counters_->superpages_now.sub(n);
  uncharge_superpages(n);
}

bool Region::charge_mappings(uint64_t n) {
  counters_->mappings.add(n);
  if (counters_->mappings.get() <= config_.mapping_limit / 8)
    return true;
  counters_->mappings.sub(n);
  return false;
}

int Region::promote(char *unit, uint64_t &duration_ns) {
  duration_ns = 0;
  if (!config_.thp_allowed || !charge_superpages(1, false))
    return ENOSPC;
  const OsHooks &os = *config_.os;
  uint64_t began = os.now_ns();
  int error = 0;
  bool flipped = false;
  const Slice slice = slice_of(unit);
  if (slice == Slice::kBigSuper ||
      (config_.thp == ThpMode::kAlways && !wants_superpages_at_first_touch(slice))) {
    // The unit has MADV_NOHUGEPAGE, under which a collapse is EINVAL. With advice the unit becomes
    // a separate mapping (or part of its neighbour's, if that one was promoted too). It counts in
    // the budget of mappings. (A small unit with superpages at first touch has advice, and
    // small_demoter.cpp removes its mapping.)
    flipped = charge_mappings(1);
    error = flipped ? os.advise(unit, kSuperpageBytes, Advice::kSuperpages) : ENOMEM;
  }
  if (!error)
    error = os.collapse(unit, kSuperpageBytes);
  duration_ns = os.now_ns() - began;
  counters_->collapse_ns.add(duration_ns);
  if (!error) {
    got_superpages(1);
    counters_->promotions.add();
    return 0;
  }
  if (flipped) {
    os.advise(unit, kSuperpageBytes, Advice::kNoSuperpages);
    uncharge_mappings(1);
  }
  uncharge_superpages(1);
  counters_
      ->collapse_failures[error == EINVAL   ? kCollapseInvalid
                          : error == EAGAIN ? kCollapseAgain
                          : error == ENOMEM ? kCollapseNoMemory
                                            : kCollapseOther]
      .add();
  return error;
}

bool Region::demote(char *unit, char *idle_page) {
  bool at_first_touch = wants_superpages_at_first_touch(slice_of(unit));
  if (at_first_touch && !charge_mappings(1))
    return false;
  config_.os->split(unit, idle_page);
  if (at_first_touch) {
    config_.os->advise(unit, kSuperpageBytes, Advice::kNoSuperpages);
    lost_superpages(1);
  } else {
    demoted(unit, kSuperpageBytes, 1);
  }
  counters_->demotions.add();
  return true;
}

void Region::demoted(char *start, size_t bytes, uint64_t promoted) {
  if (promoted == 0)
    return;
  lost_superpages(promoted);
  if (config_.thp == ThpMode::kAlways && !wants_superpages_at_first_touch(slice_of(start))) {
    config_.os->advise(start, bytes, Advice::kNoSuperpages);
    uncharge_mappings(promoted);
  }
}

} // namespace smalloc
