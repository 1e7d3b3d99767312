// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// missed_distances.h decides how accesses are kept by their reuse distance until they are priced: a walk is the dearer, the further
// back the translation was used last, since its page-table lines have been in the caches since then or not. Exact below 128 pages,
// above that in 64 bins an octave: a bin is 1.6 % of the distance, and a curve over its logarithm changes by a forty-fifth of what it does
// over an octave. Beside it each bin keeps the mean of a logarithm. At most 60 KiB, whatever the stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace smalloc::benefit {

class MissedDistances {
public:
  /// log: of what the access is priced by, where that is not its distance.
  void add(uint64_t distance, double log = 0) {
    const size_t bin = bin_of(distance);
    if (bin >= bins_.size())
      bins_.resize(bin + 1);
    bins_[bin].count++;
    bins_[bin].logs += log;
  }

  /// A bin's distances are [low, high).
  struct Bin {
    double low, high;
    double count, mean_log;
  };
  size_t bins() const { return bins_.size(); }
  Bin bin(size_t i) const {
    const auto count = static_cast<double>(bins_[i].count);
    return {static_cast<double>(low_of(i)), static_cast<double>(low_of(i + 1)), count,
            count > 0 ? bins_[i].logs / count : 0};
  }

private:
  struct Kept {
    uint64_t count = 0;
    double logs = 0;
  };
  static constexpr unsigned kSubShift = 6, kExactShift = kSubShift + 1;
  static size_t bin_of(uint64_t distance) {
    if (distance >> kExactShift == 0)
      return static_cast<size_t>(distance);
    const auto octave = 63u - static_cast<unsigned>(__builtin_clzll(distance));
    return (size_t{octave - kSubShift} << kSubShift) +
           static_cast<size_t>(distance >> (octave - kSubShift));
  }
  static uint64_t low_of(size_t bin) {
    if (bin >> kExactShift == 0)
      return bin;
    const size_t octave = (bin >> kSubShift) - 1;
    return (bin - (octave << kSubShift)) << octave;
  }

  std::vector<Kept> bins_;
};

} // namespace smalloc::benefit
