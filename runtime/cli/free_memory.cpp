// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// free_memory.cpp parses /proc/buddyinfo: a zone per line, with the number of free blocks of each
// order. A line is read up to the first field that is no number; a number that is too large counts
// as zero.
#include "runtime/cli/free_memory.h"

#include <algorithm>
#include <bit>
#include <sstream>
#include <string>

namespace smalloc::cli {

std::optional<FreeMemory> free_memory(const SystemView &system) {
  constexpr uint64_t kLeastSuperpage = uint64_t{2} << 20; // also if the kernel has no superpages
  constexpr unsigned kMostOrders = 20, kSaneBits = 40;
  const auto text = system.read("/proc/buddyinfo");
  if (!text)
    return std::nullopt;
  const uint64_t base = base_page_bytes(system);
  FreeMemory found;
  found.superpage_bytes = std::max(superpage_bytes(system), kLeastSuperpage);
  const auto least_order =
      static_cast<unsigned>(std::countr_zero(found.superpage_bytes) - std::countr_zero(base));
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    const size_t zone = line.find("zone");
    if (zone == std::string::npos)
      continue;
    std::istringstream fields(line.substr(zone + 4));
    std::string name;
    fields >> name;
    uint64_t count = 0;
    for (unsigned order = 0; order < kMostOrders && fields >> count; order++) {
      if (count >> kSaneBits != 0)
        continue;
      if (order >= least_order)
        found.superpages += count << (order - least_order);
      else
        found.bytes_in_pieces += (count << order) * base;
    }
  }
  return found;
}

} // namespace smalloc::cli
