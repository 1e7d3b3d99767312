// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// supply.cpp assumes that compaction can turn half of the available memory that is not yet whole
// blocks into superpages. This is a guess between a freshly booted machine and a long-running one.
// Too high a guess costs a fallback to base pages; too low a guess leaves a deferred site to
// migration.
#include "smalloc/agent/supply.h"
#include "smalloc/base/numbers.h"
#include "smalloc/base/text.h"
#include "smalloc/base/units.h"

namespace smalloc {
namespace {

constexpr unsigned kSuperpageOrder = 9;

/// Returns the kB after "Name:" in /proc/meminfo, as superpages.
uint64_t meminfo(const char *text, const char *name) {
  const size_t n = strlen(name);
  for (const char *line = text; line && *line; line = strchr(line, '\n')) {
    line += *line == '\n';
    if (strncmp(line, name, n) != 0 || line[n] != ':')
      continue;
    const char *c = line + n + 1;
    while (*c == ' ')
      c++;
    return take_number(c) / (kSuperpageBytes / 1024);
  }
  return 0;
}

uint64_t pool_number(const OsHooks &os, const char *sysfs, size_t page_bytes, const char *name) {
  TextBuffer<512> path;
  path.put(sysfs).put("/kernel/mm/hugepages/hugepages-").number(page_bytes / 1024);
  path.put("kB/").put(name).put_char('\0');
  return number_in_file(os, path.data(), 0);
}

} // namespace

uint64_t blocks_in_buddyinfo(const char *text) {
  uint64_t blocks = 0;
  for (const char *line = text; line && *line;) {
    const char *zone = strstr(line, "zone");
    const char *end = strchr(line, '\n');
    if (zone && (!end || zone < end)) {
      const char *c = zone + 4;
      while (*c == ' ')
        c++;
      while (*c && *c != ' ' && *c != '\n') // the zone's name
        c++;
      for (unsigned order = 0; order < 32; order++) {
        while (*c == ' ')
          c++;
        if (*c < '0' || *c > '9')
          break;
        const uint64_t count = take_number(c);
        if (order >= kSuperpageOrder && count < uint64_t{1} << 32)
          blocks += count << (order - kSuperpageOrder);
      }
    }
    line = end ? end + 1 : nullptr;
  }
  return blocks;
}

Supply read_supply(const OsHooks &os, const char *procfs, const char *sysfs,
                   size_t pool_page_bytes) {
  Supply supply;
  if (pool_page_bytes) {
    const uint64_t each = pool_page_bytes / kSuperpageBytes;
    const uint64_t free = pool_number(os, sysfs, pool_page_bytes, "free_hugepages");
    const uint64_t reserved = pool_number(os, sysfs, pool_page_bytes, "resv_hugepages");
    supply.total = pool_number(os, sysfs, pool_page_bytes, "nr_hugepages") * each;
    supply.at_once = supply.free = (free - min_of(free, reserved)) * each;
    return supply;
  }
  char text[8192];
  TextBuffer<320> buddy, memory;
  buddy.put(procfs).put("/buddyinfo").put_char('\0');
  memory.put(procfs).put("/meminfo").put_char('\0');
  if (os.read_file(buddy.data(), text, sizeof text) > 0)
    supply.at_once = blocks_in_buddyinfo(text);
  if (os.read_file(memory.data(), text, sizeof text) > 0) {
    supply.total = meminfo(text, "MemTotal");
    const uint64_t available = meminfo(text, "MemAvailable");
    supply.at_once = min_of(supply.at_once, supply.total);
    supply.free = supply.at_once + (available - min_of(available, supply.at_once)) / 2;
    supply.free = min_of(supply.free, max_of(available, supply.at_once));
  } else {
    supply.total = supply.free = supply.at_once;
  }
  return supply;
}

} // namespace smalloc
