// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// unit_map.cpp searches the bitmap by runs and skips whole words.
#include "smalloc/pages/unit_map.h"

namespace smalloc {

UnitIndex UnitMap::next_free(UnitIndex from) const {
  while (from < high_water_) {
    uint64_t word = ~words_[from / 64] >> (from % 64);
    if (word)
      return from + static_cast<UnitIndex>(__builtin_ctzll(word));
    from = (from / 64 + 1) * 64;
  }
  return from;
}

UnitIndex UnitMap::next_taken(UnitIndex from, UnitIndex limit) const {
  UnitIndex stop = min_of(limit, high_water_);
  while (from < stop) {
    uint64_t word = words_[from / 64] >> (from % 64);
    if (word)
      return min_of(from + static_cast<UnitIndex>(__builtin_ctzll(word)), limit);
    from = (from / 64 + 1) * 64;
  }
  return limit;
}

UnitIndex UnitMap::take(UnitIndex count, UnitIndex alignment) {
  if (count > units_)
    return kNoUnit;
  UnitIndex at = 0;
  for (;;) {
    at = next_free(at);
    uint64_t start64 = align_up(at + phase_, alignment) - phase_;
    auto start = static_cast<UnitIndex>(start64);
    if (start64 > units_ - count)
      return kNoUnit;
    UnitIndex taken = next_taken(start, start + count);
    if (taken == start + count) {
      mark(start, count, true);
      return start;
    }
    at = taken;
  }
}

bool UnitMap::take_at(UnitIndex first, UnitIndex count) {
  if (count > units_ || first > units_ - count || next_taken(first, first + count) != first + count)
    return false;
  mark(first, count, true);
  return true;
}

void UnitMap::give_back(UnitIndex first, UnitIndex count) {
  mark(first, count, false);
  while (high_water_ > 0 && !is_taken(high_water_ - 1))
    high_water_--;
}

void UnitMap::mark(UnitIndex first, UnitIndex count, bool taken) {
  UnitIndex end = first + count;
  for (UnitIndex at = first; at < end;) {
    UnitIndex bit = at % 64, n = min_of(end - at, 64 - bit);
    uint64_t mask = (n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1) << bit;
    if (taken)
      words_[at / 64] |= mask;
    else
      words_[at / 64] &= ~mask;
    at += n;
  }
  if (taken) {
    used_ += count;
    high_water_ = max_of(high_water_, end);
  } else {
    used_ -= count;
  }
}

bool UnitMap::check_invariants() const {
  UnitIndex counted = 0;
  for (UnitIndex unit = 0; unit < units_; unit++) {
    if (!is_taken(unit))
      continue;
    counted++;
    if (unit >= high_water_)
      return false;
  }
  return counted == used_ && high_water_ <= units_;
}

} // namespace smalloc
