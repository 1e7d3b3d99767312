// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "smalloc/os/process_memory.h"
#include "smalloc/base/units.h"

namespace smalloc {

ProcessMemory process_memory(const OsHooks &os) {
  char text[128];
  if (os.read_file("/proc/self/statm", text, sizeof text) <= 0)
    return {};
  uint64_t pages[3] = {}; // size, resident, shared
  const char *at = text;
  for (uint64_t &number : pages) {
    for (; *at >= '0' && *at <= '9'; at++)
      number = number * 10 + static_cast<uint64_t>(*at - '0');
    at += *at == ' ';
  }
  const uint64_t anonymous = pages[1] - min_of(pages[1], pages[2]);
  return {pages[1] * kBasePageBytes, anonymous * kBasePageBytes};
}

} // namespace smalloc
