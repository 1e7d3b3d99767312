// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// process_map.cpp parses numa_maps (Documentation/filesystems/proc.rst of the kernel).
#include "runtime/numa/process_map.h"

#include <charconv>

namespace smalloc::numa {
namespace {

bool number(std::string_view text, int base, uint64_t &value) {
  const char *end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value, base);
  return error == std::errc() && at == end && !text.empty();
}

bool parse_line(std::string_view line, MappingPlacement &out) {
  uint64_t page_bytes = 4096;
  std::map<unsigned, uint64_t> pages;
  for (unsigned field = 0; !line.empty(); field++) {
    const size_t end = line.find(' ');
    const std::string_view word = line.substr(0, end);
    line = end == std::string_view::npos ? std::string_view() : line.substr(end + 1);
    uint64_t value;
    if (field == 0) {
      if (!number(word, 16, out.start))
        return false;
    } else if (field == 1) {
      out.policy = word;
    } else if (word == "heap" || word == "stack") {
      out.what = word;
    } else if (word.substr(0, 5) == "file=") {
      out.what = word.substr(5);
    } else if (const size_t equals = word.find('='); equals != std::string_view::npos) {
      const std::string_view key = word.substr(0, equals);
      if (!number(word.substr(equals + 1), 10, value))
        continue;
      uint64_t node;
      if (key == "kernelpagesize_kB")
        page_bytes = value << 10;
      else if (key[0] == 'N' && number(key.substr(1), 10, node) && node < 4096)
        pages[static_cast<unsigned>(node)] = value;
    }
  }
  for (auto [node, count] : pages)
    out.bytes_on[node] = count * page_bytes;
  return !out.policy.empty();
}

} // namespace

uint64_t MappingPlacement::bytes() const {
  uint64_t sum = 0;
  for (auto [node, bytes] : bytes_on)
    sum += bytes;
  return sum;
}

std::vector<MappingPlacement> parse_numa_maps(std::string_view text) {
  std::vector<MappingPlacement> list;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    MappingPlacement mapping;
    if (parse_line(text.substr(0, end), mapping))
      list.push_back(std::move(mapping));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return list;
}

} // namespace smalloc::numa
