// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel_view.cpp parses the lines of smaps and sums up resident and superpage bytes by heap.
#include "smalloc/pages/kernel_view.h"
#include "smalloc/files/uncancelled.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

namespace smalloc {
namespace {

constexpr uint32_t kNobody = UINT32_MAX;

uint64_t parse(const char *c, unsigned base) {
  uint64_t value = 0;
  for (;; c++) {
    unsigned digit = *c >= '0' && *c <= '9'                 ? static_cast<unsigned>(*c - '0')
                     : base == 16 && *c >= 'a' && *c <= 'f' ? static_cast<unsigned>(*c - 'a' + 10)
                                                            : base;
    if (digit >= base)
      return value;
    value = value * base + digit;
  }
}

struct Reader {
  const smalloc_live_heap *heaps;
  uint32_t count;
  uint32_t current = kNobody; ///< heap whose mapping the lines describe
  KernelView view;

  void take(const char *line) {
    if ((*line >= '0' && *line <= '9') || (*line >= 'a' && *line <= 'f')) {
      uint64_t start = parse(line, 16);
      view.mappings_all++;
      current = 0;
      while (current < count && !(start >= heaps[current].start && start < heaps[current].end))
        current++;
      if (current == count)
        current = kNobody;
      else
        view.mappings_of_heaps++;
      return;
    }
    if (current == kNobody)
      return;
    const char *number = strchr(line, ':');
    if (!number)
      return;
    do
      number++;
    while (*number == ' ');
    uint64_t bytes = parse(number, 10) * 1024;
    bool hugetlb = strncmp(line, "Private_Hugetlb:", 16) == 0 ||
                   strncmp(line, "Shared_Hugetlb:", 15) == 0; // not part of Rss
    KernelView::Heap &h = view.heaps[current];
    if (hugetlb || strncmp(line, "Rss:", 4) == 0) {
      h.resident_bytes += bytes;
      view.total.resident_bytes += bytes;
    }
    if (hugetlb || strncmp(line, "AnonHugePages:", 14) == 0) {
      h.superpage_bytes += bytes;
      view.total.superpage_bytes += bytes;
    }
  }
};

} // namespace

KernelView ask_kernel(const smalloc_live_heap *heaps, uint32_t count) {
  Reader reader = {heaps, count < SMALLOC_LIVE_HEAPS ? count : SMALLOC_LIVE_HEAPS, kNobody, {}};
  int fd = uncancelled::open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return reader.view;
  char buffer[4096];
  size_t held = 0;
  bool in_long_line = false;
  for (;;) {
    ssize_t n = uncancelled::read(fd, buffer + held, sizeof buffer - 1 - held);
    if (n <= 0)
      break;
    held += static_cast<size_t>(n);
    buffer[held] = 0;
    char *line = buffer;
    for (char *end; (end = static_cast<char *>(memchr(line, '\n', buffer + held - line)));) {
      *end = 0;
      if (!in_long_line)
        reader.take(line);
      in_long_line = false;
      line = end + 1;
    }
    held -= static_cast<size_t>(line - buffer);
    memmove(buffer, line, held);
    if (held < sizeof buffer - 1)
      continue;
    // The line is the first of a mapping, with a long file name. The rest of the name may look like
    // another first line.
    buffer[held] = 0;
    if (!in_long_line)
      reader.take(buffer);
    in_long_line = true;
    held = 0;
  }
  uncancelled::close(fd);
  reader.view.known = true;
  return reader.view;
}

} // namespace smalloc
