// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// footprint.h assigns each resident byte of a process to a segment and a page size. The source is
// /proc/PID/smaps. Segments are heap (anonymous), static data, stack, text and other.
//
// Static data is what a file maps writable, plus the anonymous pages right behind it (.bss). The
// kernel gives no name to a large .bss of position-independent code, so only its address identifies
// it.
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

// Resident bytes by kind of page.
struct PageUse {
  uint64_t base_bytes = 0;
  uint64_t thp_bytes = 0;     // transparent superpages, anonymous or of files
  uint64_t hugetlb_bytes = 0; // pages of a hugetlb pool
  uint64_t total() const { return base_bytes + thp_bytes + hugetlb_bytes; }
  PageUse &operator+=(const PageUse &other);
};

struct Footprint {
  std::array<PageUse, kSegments> segments;
  PageUse total() const;
  Footprint &operator+=(const Footprint &other);
};

// Parses the text of an smaps file. Skips lines that it does not understand.
Footprint parse_smaps(std::string_view text);

// Computes the time average and the maximum of samples. A sample is valid until the next one.
class FootprintSeries {
public:
  void add(double seconds, const Footprint &sample);
  size_t samples() const { return samples_.size(); }
  const Footprint &at(size_t i) const { return samples_[i].footprint; }
  // Return the average until `end_seconds`, when the process ended.
  double average_bytes(double end_seconds) const;
  Footprint average(double end_seconds) const;
  uint64_t maximum_bytes() const;
  // Returns the sample with the most bytes; empty if there are no samples.
  Footprint peak() const;

private:
  struct Sample {
    double seconds;
    Footprint footprint;
  };
  std::vector<Sample> samples_;
};

} // namespace smalloc::study
