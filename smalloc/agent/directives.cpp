// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// directives.cpp decides how the file is taken in without malloc: text and table are anonymous mappings, the
// text's is given back. A FIFO or device named by mistake is refused, not waited for.
#include "smalloc/agent/directives.h"
#include "smalloc/base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace smalloc {
namespace {

void *map(size_t bytes) {
  void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

const char *reason(int error) {
  switch (error) {
  case ENOENT:
    return "no such file";
  case EACCES:
    return "permission denied";
  default:
    return "it cannot be read";
  }
}

} // namespace

const char *Directives::load(const char *path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0)
    return reason(errno);
  struct stat info;
  const char *why = nullptr;
  size_t bytes = 0;
  if (fstat(fd, &info) != 0)
    why = "it cannot be read";
  else if (!S_ISREG(info.st_mode))
    why = "it is not a regular file";
  else if (static_cast<uint64_t>(info.st_size) > kMostBytes)
    why = "it is larger than 16 MiB";
  else
    bytes = static_cast<size_t>(info.st_size);
  char *text = !why && bytes ? static_cast<char *>(map(bytes)) : nullptr;
  if (!why && bytes && !text)
    why = "no memory";
  size_t done = 0;
  while (text && done < bytes) {
    const ssize_t n = read(fd, text + done, bytes - done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      break; // shorter than it said: what is there counts
    done += static_cast<size_t>(n);
  }
  close(fd);
  if (text) {
    constexpr size_t kHeader = sizeof kDirectivesHeader - 1;
    if (done < kHeader || memcmp(text, kDirectivesHeader, kHeader) != 0)
      why = "it does not begin with '# smalloc.directives/1'";
    else
      parse(text, done);
    munmap(text, bytes);
  } else if (!why) {
    why = "it is empty";
  }
  return why;
}

void Directives::parse(const char *text, size_t bytes) {
  size_t lines = 1;
  for (const char *c = text;
       (c = static_cast<const char *>(memchr(c, '\n', bytes - static_cast<size_t>(c - text)))); c++)
    lines++;
  entries_ = static_cast<Entry *>(map(lines * sizeof(Entry)));
  if (!entries_)
    return;
  bool sorted = true;
  for (size_t at = 0; at < bytes;) {
    const void *newline = memchr(text + at, '\n', bytes - at);
    const size_t end =
        newline ? static_cast<size_t>(static_cast<const char *>(newline) - text) : bytes;
    Directive d;
    switch (parse_directive(Text(text + at, end - at), d)) {
    case DirectiveLine::kDirective:
      entries_[count_] = {d.site, d.context, d.has_context, d.page_shift};
      sorted &= count_ == 0 || !entries_[count_].before(entries_[count_ - 1]);
      count_++;
      break;
    case DirectiveLine::kBad:
      bad_++;
      break;
    case DirectiveLine::kNothing:
      break;
    }
    at = end + 1;
  }
  if (!sorted)
    sort();
}

/// Heapsort: libc's qsort may call malloc.
void Directives::sort() {
  const auto sink = [this](size_t root, size_t end) {
    for (size_t child; (child = 2 * root + 1) < end; root = child) {
      if (child + 1 < end && entries_[child].before(entries_[child + 1]))
        child++;
      if (!entries_[root].before(entries_[child]))
        return;
      const Entry held = entries_[root];
      entries_[root] = entries_[child];
      entries_[child] = held;
    }
  };
  for (size_t i = count_ / 2; i-- > 0;)
    sink(i, count_);
  for (size_t end = count_; end > 1;) {
    end--;
    const Entry held = entries_[0];
    entries_[0] = entries_[end];
    entries_[end] = held;
    sink(0, end);
  }
}

unsigned Directives::page_shift(uint64_t site, uint64_t context) const {
  size_t low = 0, high = count_;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (entries_[middle].site < site)
      low = middle + 1;
    else
      high = middle;
  }
  unsigned found = 0;
  for (; low < count_ && entries_[low].site == site; low++) {
    if (entries_[low].has_context && entries_[low].context == context)
      return entries_[low].page_shift;
    if (!entries_[low].has_context && !found)
      found = entries_[low].page_shift;
  }
  return found;
}

} // namespace smalloc
