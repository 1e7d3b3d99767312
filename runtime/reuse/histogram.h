// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// histogram.h keeps counts by distance (or by reuse time). Below 131,072 each distance has a bin;
// above that an octave has 1,024 bins, each narrower than 0.1 % of the distance. Weights are real
// numbers, since sampled accesses stand for several. At most 1.4 MiB, whatever the stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace smalloc::reuse {

class Histogram {
public:
  void add(uint64_t distance, double weight = 1) {
    const size_t bin = distance < kExact ? static_cast<size_t>(distance) : bin_of(distance);
    if (bin >= bins_.size())
      grow(bin);
    bins_[bin] += weight;
  }
  /// Adds a first access: its distance is infinite.
  void add_cold(double weight = 1) { cold_ += weight; }
  void add(const Histogram &other, double factor = 1);
  /// Returns the histogram of the whole stream, estimated from this one of a sample at `rate`. Each
  /// distance d stands for those from d / rate up to (d + 1) / rate, and each access for 1 / rate
  /// of them.
  Histogram of_whole(double rate) const;

  double cold() const { return cold_; }
  /// Returns the sum of all weights, first accesses included.
  double total() const;
  /// Returns the weight of distances >= capacity, first accesses included. A capacity inside a bin,
  /// or between two integers, takes its share of the bin. O(bins).
  double at_least(double capacity) const;

  /// Bin of the distances [low, high).
  struct Bin {
    uint64_t low, high;
    double weight;
  };
  size_t bins() const { return bins_.size(); }
  Bin bin(size_t i) const { return {low_of(i), low_of(i + 1), bins_[i]}; }
  size_t memory_bytes() const { return bins_.capacity() * sizeof(double); }

private:
  static constexpr unsigned kExactShift = 17, kSubShift = 10;
  static constexpr uint64_t kExact = uint64_t{1} << kExactShift;
  void grow(size_t bin);
  static size_t bin_of(uint64_t distance);
  static uint64_t low_of(size_t bin);

  std::vector<double> bins_;
  double cold_ = 0;
};

} // namespace smalloc::reuse
