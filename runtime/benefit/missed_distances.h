// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// missed_distances.h stores accesses by their reuse distance until they are priced. A walk costs
// the more, the further back the translation was used last, since its page-table lines may have
// left the caches since. Distances below 128 pages are exact; above that an octave has 64 bins. A
// bin is 1.6 % of the distance, and a curve over its logarithm changes within it by 1/45 of its
// change over an octave. Each bin also keeps the mean of a logarithm. At most 60 KiB, whatever the
// stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace smalloc::benefit {

class MissedDistances {
public:
  /// Adds an access. log: logarithm of what it is priced by, if that is not its distance.
  void add(uint64_t distance, double log = 0) {
    const size_t bin = bin_of(distance);
    if (bin >= bins_.size())
      bins_.resize(bin + 1);
    bins_[bin].count++;
    bins_[bin].logs += log;
  }

  /// Bin of the distances [low, high).
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
