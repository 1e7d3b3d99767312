// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// histogram.cpp computes the bins' borders. A capacity between two borders takes its share of the
// bin.
#include "runtime/reuse/histogram.h"

#include <algorithm>

namespace smalloc::reuse {

void Histogram::grow(size_t bin) {
  constexpr size_t kMost = kExact + (size_t{64 - kExactShift} << kSubShift);
  bins_.resize(std::min(bin + bin / 4 + 64, kMost));
}

size_t Histogram::bin_of(uint64_t distance) {
  const unsigned octave = 63u - static_cast<unsigned>(__builtin_clzll(distance));
  const uint64_t sub = (distance >> (octave - kSubShift)) & ((1u << kSubShift) - 1);
  return kExact + ((size_t{octave} - kExactShift) << kSubShift) + sub;
}

uint64_t Histogram::low_of(size_t bin) {
  if (bin < kExact)
    return bin;
  const size_t beyond = bin - kExact;
  const unsigned octave = static_cast<unsigned>(beyond >> kSubShift) + kExactShift;
  if (octave > 63)
    return UINT64_MAX;
  const uint64_t sub = beyond & ((1u << kSubShift) - 1);
  return (uint64_t{1} << octave) + (sub << (octave - kSubShift));
}

void Histogram::add(const Histogram &other, double factor) {
  bins_.resize(std::max(bins_.size(), other.bins_.size()));
  for (size_t i = 0; i < other.bins_.size(); i++)
    bins_[i] += factor * other.bins_[i];
  cold_ += factor * other.cold_;
}

Histogram Histogram::of_whole(double rate) const {
  if (rate >= 1)
    return *this;
  constexpr int kParts = 16;
  Histogram whole;
  whole.cold_ = cold_ / rate;
  for (size_t i = 0; i < bins_.size(); i++)
    if (const Bin b = bin(i); b.weight != 0)
      for (int part = 0; part < kParts; part++)
        whole.add(
            static_cast<uint64_t>((static_cast<double>(b.low) +
                                   static_cast<double>(b.high - b.low) * (part + 0.5) / kParts) /
                                  rate),
            b.weight / kParts / rate);
  return whole;
}

double Histogram::total() const {
  double sum = cold_;
  for (double weight : bins_)
    sum += weight;
  return sum;
}

double Histogram::at_least(double capacity) const {
  double sum = cold_;
  for (size_t i = bins_.size(); i-- > 0;) {
    const Bin b = bin(i);
    if (b.weight == 0)
      continue;
    if (static_cast<double>(b.low) >= capacity) {
      sum += b.weight;
    } else {
      const double high = static_cast<double>(b.high);
      if (capacity < high)
        sum += b.weight * (high - capacity) / (high - static_cast<double>(b.low));
      break; // the bins below end at or before the capacity
    }
  }
  return sum;
}

} // namespace smalloc::reuse
