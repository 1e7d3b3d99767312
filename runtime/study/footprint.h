// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// footprint.h decides to which segment and page size each resident byte of a process belongs, from
// the kernel's own account (/proc/PID/smaps): heap (anonymous), static data, stack, text, other.
//
// Static data is what a file maps writable, and the anonymous pages right behind it (.bss); with
// position-independent code and large .bss the kernel names nothing, so adjacency decides.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smalloc::study {

enum class Segment { kHeap, kStatic, kStack, kText, kOther };
constexpr size_t kSegments = 5;
const char *segment_name(Segment segment);

// Resident bytes by the kind of page that backs them.
struct PageUse {
  uint64_t base_bytes = 0;
  uint64_t thp_bytes = 0;     // transparent superpages, anonymous or of files
  uint64_t hugetlb_bytes = 0; // pages of a pool
  uint64_t total() const { return base_bytes + thp_bytes + hugetlb_bytes; }
  PageUse &operator+=(const PageUse &other);
};

struct Footprint {
  std::array<PageUse, kSegments> segments;
  PageUse total() const;
  Footprint &operator+=(const Footprint &other);
};

// Lines that are not understood are skipped.
Footprint parse_smaps(std::string_view text);

// Average over time and maximum of samples, each of which stands for the time up to the next.
class FootprintSeries {
public:
  void add(double seconds, const Footprint &sample);
  size_t samples() const { return samples_.size(); }
  const Footprint &at(size_t i) const { return samples_[i].footprint; }
  // Until `end_seconds`, when the process ended.
  double average_bytes(double end_seconds) const;
  Footprint average(double end_seconds) const;
  uint64_t maximum_bytes() const;
  // The sample with the most bytes; empty without samples.
  Footprint peak() const;

private:
  struct Sample {
    double seconds;
    Footprint footprint;
  };
  std::vector<Sample> samples_;
};

} // namespace smalloc::study
