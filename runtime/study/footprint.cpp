// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// footprint.cpp parses the mappings of /proc/PID/smaps and assigns each to a segment.
#include "runtime/study/footprint.h"

#include <algorithm>
#include <charconv>

namespace smalloc::study {
namespace {

struct Mapping {
  uint64_t start = 0, end = 0;
  bool writable = false, executable = false, shared = false;
  std::string_view name;
};

uint64_t number(std::string_view text, int base) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

// Parses a mapping's line: "55d0c000-55d0d000 rw-p 00000000 08:01 123 /usr/bin/app"
bool parse_mapping(std::string_view line, Mapping &mapping) {
  const size_t dash = line.find('-'), space = line.find(' ');
  if (dash == std::string_view::npos || space == std::string_view::npos || dash > space ||
      line.size() < space + 5 || (line[space + 1] != 'r' && line[space + 1] != '-'))
    return false;
  mapping.start = number(line.substr(0, dash), 16);
  mapping.end = number(line.substr(dash + 1, space - dash - 1), 16);
  mapping.writable = line[space + 2] == 'w';
  mapping.executable = line[space + 3] == 'x';
  mapping.shared = line[space + 4] == 's';
  size_t at = space + 1; // skip four fields; the name follows
  for (int field = 0; field < 4 && at < line.size(); field++) {
    at = line.find(' ', at);
    at = at == std::string_view::npos ? line.size() : line.find_first_not_of(' ', at);
    at = at == std::string_view::npos ? line.size() : at;
  }
  mapping.name = line.substr(at);
  return mapping.end > mapping.start;
}

Segment segment_of(const Mapping &mapping, const Mapping &previous, Segment previous_segment) {
  if (mapping.name.starts_with("[stack"))
    return Segment::kStack;
  if (mapping.name == "[heap]" || mapping.name.starts_with("[anon") ||
      mapping.name.starts_with("/anon_hugepage"))
    return Segment::kHeap;
  if (mapping.name.starts_with('['))
    return Segment::kOther; // [vdso], [vvar], [vsyscall]
  if (!mapping.name.empty())
    return mapping.executable ? Segment::kText
           : mapping.writable ? (mapping.shared ? Segment::kOther : Segment::kStatic)
                              : Segment::kOther;
  // .bss may be several mappings, because superpage advice (madvise) splits it.
  const bool behind_data = previous_segment == Segment::kStatic && previous.end == mapping.start;
  return behind_data ? Segment::kStatic : mapping.executable ? Segment::kText : Segment::kHeap;
}

} // namespace

const char *segment_name(Segment segment) {
  constexpr const char *names[kSegments] = {"heap", "static", "stack", "text", "other"};
  return names[static_cast<size_t>(segment)];
}

PageUse &PageUse::operator+=(const PageUse &other) {
  base_bytes += other.base_bytes;
  thp_bytes += other.thp_bytes;
  hugetlb_bytes += other.hugetlb_bytes;
  return *this;
}

PageUse Footprint::total() const {
  PageUse sum;
  for (const PageUse &use : segments)
    sum += use;
  return sum;
}

Footprint &Footprint::operator+=(const Footprint &other) {
  for (size_t i = 0; i < kSegments; i++)
    segments[i] += other.segments[i];
  return *this;
}

Footprint parse_smaps(std::string_view text) {
  Footprint result;
  Mapping mapping, previous;
  Segment segment = Segment::kOther;
  uint64_t resident = 0, thp = 0, hugetlb = 0;
  bool grows_down = false; // superpage advice splits the stack; only its top part keeps the name
  const auto close = [&] {
    if (grows_down)
      segment = Segment::kStack;
    grows_down = false;
    PageUse &use = result.segments[static_cast<size_t>(segment)];
    use.thp_bytes += std::min(thp, resident);
    use.base_bytes += resident - std::min(thp, resident);
    use.hugetlb_bytes += hugetlb; // hugetlb pages are not part of Rss
    resident = thp = hugetlb = 0;
  };
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    Mapping next;
    // A field's line is "Name: 12 kB"; a mapping's line begins with addresses.
    const size_t colon = line.find(':'), space = line.find(' ');
    if (colon != std::string_view::npos && colon < space) {
      const std::string_view key = line.substr(0, colon);
      const size_t digit = line.find_first_of("0123456789", colon);
      const uint64_t bytes =
          digit == std::string_view::npos ? 0 : number(line.substr(digit), 10) << 10;
      if (key == "VmFlags")
        grows_down = line.find(" gd") != std::string_view::npos;
      else if (key == "Rss")
        resident = bytes;
      else if (key == "AnonHugePages" || key == "ShmemPmdMapped" || key == "FilePmdMapped")
        thp += bytes;
      else if (key == "Private_Hugetlb" || key == "Shared_Hugetlb")
        hugetlb += bytes;
    } else if (parse_mapping(line, next)) {
      close();
      previous = mapping;
      mapping = next;
      segment = segment_of(mapping, previous, segment);
    }
  }
  close();
  return result;
}

void FootprintSeries::add(double seconds, const Footprint &sample) {
  samples_.push_back({seconds, sample});
}

double FootprintSeries::average_bytes(double end_seconds) const {
  return static_cast<double>(average(end_seconds).total().total());
}

Footprint FootprintSeries::average(double end_seconds) const {
  double time = 0;
  std::array<std::array<double, 3>, kSegments> sums{};
  for (size_t i = 0; i < samples_.size(); i++) {
    const double until = i + 1 < samples_.size() ? samples_[i + 1].seconds : end_seconds;
    const double weight = std::max(until - samples_[i].seconds, 1e-6);
    for (size_t k = 0; k < kSegments; k++) {
      const PageUse &use = samples_[i].footprint.segments[k];
      sums[k][0] += weight * static_cast<double>(use.base_bytes);
      sums[k][1] += weight * static_cast<double>(use.thp_bytes);
      sums[k][2] += weight * static_cast<double>(use.hugetlb_bytes);
    }
    time += weight;
  }
  Footprint result;
  for (size_t k = 0; k < kSegments && time > 0; k++)
    result.segments[k] = {static_cast<uint64_t>(sums[k][0] / time),
                          static_cast<uint64_t>(sums[k][1] / time),
                          static_cast<uint64_t>(sums[k][2] / time)};
  return result;
}

uint64_t FootprintSeries::maximum_bytes() const { return peak().total().total(); }

Footprint FootprintSeries::peak() const {
  Footprint most;
  for (const Sample &sample : samples_)
    if (sample.footprint.total().total() >= most.total().total())
      most = sample.footprint;
  return most;
}

} // namespace smalloc::study
