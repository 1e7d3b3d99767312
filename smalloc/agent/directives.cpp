// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// directives.cpp decides how the file is taken in without malloc: text and table are anonymous mappings, the
// text's is given back. A FIFO or device named by mistake is refused, not waited for.
#include "smalloc/agent/directives.h"
#include "smalloc/base/heap_sort.h"
#include "smalloc/base/units.h"
#include "smalloc/include/smalloc/directive.h"
#include "smalloc/include/smalloc/input_file.h"
#include "smalloc/os/uncancelled.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

namespace smalloc {
namespace {

/// more_flags: MAP_POPULATE for what is written whole at once, so that there is no fault a page.
void *map(size_t bytes, int more_flags = 0) {
  void *p =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | more_flags, -1, 0);
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

/// What validation has left of a line: a directive that is given up is one for base pages.
Directives::Entry entry_of(const Directive &d) {
  constexpr uint64_t kMostPmb = kWholePmb; // and a file may say anything
  Directives::Entry e = {};
  e.site = d.site;
  e.context = d.context;
  e.has_context = d.has_context;
  e.page_shift = smalloc_directive_given_up(d.held, d.validated)
                     ? uint8_t{kBaseShift}
                     : static_cast<uint8_t>(d.page_shift);
  const uint64_t pmb = min_of(d.pmb_thousandths, kMostPmb);
  const uint64_t looked_at = min_of<uint64_t>(d.validated, UINT32_MAX);
  e.pmb_thousandths = pmb * (min_of(d.held, looked_at) + 1) / (looked_at + 1);
  e.superpages = static_cast<uint32_t>(min_of<uint64_t>(d.superpages, UINT32_MAX));
  e.insists = !d.has_pmb;
  e.decision = e.page_shift == kBaseShift ? SiteDecision::kBase : SiteDecision::kTaken;
  return e;
}

} // namespace

const char *Directives::load(const char *path, void (*also)(Text text)) {
  const char *why;
  size_t bytes = 0;
  const int fd = smalloc_open_input(path, &bytes, &why);
  if (fd < 0)
    return why ? why : reason(errno);
  if (bytes > kMostBytes)
    why = "it is larger than 16 MiB";
  char *text = !why && bytes ? static_cast<char *>(map(bytes, MAP_POPULATE)) : nullptr;
  if (!why && bytes && !text)
    why = "no memory";
  size_t done = 0;
  while (text && done < bytes) {
    const ssize_t n = uncancelled::read(fd, text + done, bytes - done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      break; // shorter than it said: what is there counts
    done += static_cast<size_t>(n);
  }
  uncancelled::close(fd);
  if (text) {
    constexpr size_t kHeader = sizeof kDirectivesHeader - 1;
    if (done < kHeader || memcmp(text, kDirectivesHeader, kHeader) != 0 ||
        (done > kHeader && !directive_detail::is_space(text[kHeader]) && text[kHeader] != '\n'))
      why = "it does not begin with '# smalloc.directives/1'";
    else {
      if (parse(text, done) && also)
        also(Text(text, done));
    }
    munmap(text, bytes);
  } else if (!why) {
    why = "it is empty";
  }
  return why;
}

/// True: some line speaks of places.
bool Directives::parse(const char *text, size_t bytes) {
  size_t lines = 1;
  for (const char *c = text;
       (c = static_cast<const char *>(memchr(c, '\n', bytes - static_cast<size_t>(c - text)))); c++)
    lines++;
  entries_ = static_cast<Entry *>(map(lines * sizeof(Entry)));
  if (!entries_)
    return false;
  const void *first_end = memchr(text, '\n', bytes);
  parse_header(Text(
      text, first_end ? static_cast<size_t>(static_cast<const char *>(first_end) - text) : bytes));
  bool sorted = true, places = false;
  for (size_t at = 0; at < bytes;) {
    const void *newline = memchr(text + at, '\n', bytes - at);
    const size_t end =
        newline ? static_cast<size_t>(static_cast<const char *>(newline) - text) : bytes;
    Directive d;
    switch (parse_directive(Text(text + at, end - at), d)) {
    case DirectiveLine::kDirective:
      entries_[count_] = entry_of(d);
      places |= d.numa.size != 0 && !d.numa.is("-");
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
    heap_sort(entries_, count_, [](const Entry &a, const Entry &b) { return a.before(b); });
  return places;
}

void Directives::parse_header(Text line) {
  using namespace directive_detail;
  line = Text(line.data + sizeof kDirectivesHeader - 1, line.size - (sizeof kDirectivesHeader - 1));
  while (line.size) {
    size_t end = 0, equals = 0;
    while (end < line.size && !is_space(line.data[end]))
      end++;
    while (equals < end && line.data[equals] != '=')
      equals++;
    if (equals < end) {
      const Text key(line.data, equals);
      Text value(line.data + equals + 1, end - equals - 1);
      const auto number = [&](uint64_t &field, unsigned decimals = 0) {
        uint64_t parsed;
        if (parse_decimal(value, decimals, parsed))
          field = parsed;
      };
      if (key.is("program") && value.size < sizeof header_.program)
        memcpy(header_.program, value.data, value.size);
      else if (key.is("input"))
        header_.has_input = take_hex(value, header_.input) && value.size == 0;
      else if (key.is("verdict"))
        header_.slower = value.is("slower");
      else if (key.is("seconds"))
        number(header_.milliseconds, 3);
      else if (key.is("faults_saved"))
        number(header_.faults_saved);
      else if (key.is("saved_ms"))
        number(header_.saved_ms);
      else if (key.is("base_runs"))
        number(header_.base_runs);
      else if (key.is("base_ms"))
        number(header_.base_ms);
      else if (key.is("base_most_ms"))
        number(header_.base_most_ms);
      else if (key.is("base_faults"))
        number(header_.base_faults);
    }
    end += end < line.size;
    line = Text(line.data + end, line.size - end);
  }
}

Directives::Entry *Directives::find(uint64_t site, uint64_t context) const {
  size_t low = 0, high = count_;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (entries_[middle].site < site)
      low = middle + 1;
    else
      high = middle;
  }
  Entry *found = nullptr;
  for (; low < count_ && entries_[low].site == site; low++) {
    if (entries_[low].has_context && entries_[low].context == context)
      return &entries_[low];
    if (!entries_[low].has_context && !found)
      found = &entries_[low];
  }
  return found;
}

unsigned Directives::page_shift(uint64_t site, uint64_t context) const {
  const Entry *entry = find(site, context);
  return entry ? entry->page_shift : 0;
}

} // namespace smalloc
