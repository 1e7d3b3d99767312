// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "smalloc/process/process_memory.h"
#include "smalloc/base/numbers.h"
#include "smalloc/base/units.h"

#include <atomic>
#include <string.h>
#include <unistd.h>

namespace smalloc {

ProcessMemory process_memory(const OsHooks &os) {
  char text[128];
  if (os.read_file("/proc/self/statm", text, sizeof text) <= 0)
    return {};
  uint64_t pages[6] = {}; // size, resident, shared, text, libraries, data
  const char *at = text;
  for (uint64_t &number : pages) {
    number = take_number(at);
    at += *at == ' ';
  }
  const uint64_t anonymous = pages[1] - min_of(pages[1], pages[2]);
  return {pages[1] * kBasePageBytes, anonymous * kBasePageBytes, pages[5] * kBasePageBytes};
}

uint64_t system_memory_bytes() {
  static std::atomic<uint64_t> known{0};
  uint64_t bytes = known.load(std::memory_order_relaxed);
  if (bytes)
    return bytes;
  char text[128];
  if (kLinux.read_file("/proc/meminfo", text, sizeof text) > 0 &&
      strncmp(text, "MemTotal:", 9) == 0) {
    const char *at = text + 9;
    while (*at == ' ')
      at++;
    bytes = take_number(at) * 1024;
  }
  if (const long pages = bytes ? 0 : sysconf(_SC_PHYS_PAGES); pages > 0)
    bytes = static_cast<uint64_t>(pages) * kBasePageBytes;
  known.store(bytes, std::memory_order_relaxed);
  return bytes;
}

} // namespace smalloc
