// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// directives.cpp reads the file without malloc: the buffer and the table are anonymous mappings,
// and the buffer's is unmapped. It refuses a FIFO or device instead of waiting for it.
#include "smalloc/agent/directives.h"
#include "smalloc/base/heap_sort.h"
#include "smalloc/base/units.h"
#include "smalloc/files/input_lines.h"
#include "smalloc/files/uncancelled.h"
#include "smalloc/include/smalloc/directive.h"
#include "smalloc/include/smalloc/input_file.h"
#include "smalloc/os/scratch_pages.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

namespace smalloc {
namespace {

/// Bytes of the file read at a time: few enough for a near cache, and enough that system calls do
/// not count.
constexpr size_t kBufferBytes = SMALLOC_DIRECTIVE_MOST_BYTES + 1;
/// Length of "0123456789abcdef page=2m" and a newline.
constexpr size_t kLeastLine = 25;

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

/// Returns the entry of a line after validation: a dropped directive counts as one for base pages.
Directives::Entry entry_of(const Directive &d) {
  constexpr uint64_t kMostPmb = kWholePmb; // and a file may contain any number
  Directives::Entry e = {};
  e.site = d.site;
  e.context = d.context;
  e.has_context = d.has_context;
  e.page_shift = smalloc_directive_given_up(d.held, d.validated)
                     ? uint8_t{kBaseShift}
                     : static_cast<uint8_t>(d.page_shift);
  const uint64_t pmb = min_of(d.pmb_thousandths, kMostPmb);
  const uint64_t looked_at = min_of<uint64_t>(d.validated, UINT32_MAX);
  e.pmb_thousandths =
      static_cast<uint32_t>(pmb * (min_of(d.held, looked_at) + 1) / (looked_at + 1));
  e.superpages = static_cast<uint32_t>(min_of<uint64_t>(d.superpages, UINT32_MAX));
  e.insists = !d.has_pmb;
  e.decision = e.page_shift == kBaseShift ? DirectiveOutcome::kBase : DirectiveOutcome::kTaken;
  return e;
}

} // namespace

const char *Directives::load(const char *path, void (*placed)(const Directive &d, size_t most)) {
  const char *why;
  size_t bytes = 0;
  const int fd = smalloc_open_input(path, &bytes, &why);
  if (fd < 0)
    return why ? why : reason(errno);
  ScratchPages buffer(bytes == 0 || bytes > kMostBytes ? 0 : kBufferBytes);
  if (bytes == 0)
    why = "it is empty";
  else if (bytes > kMostBytes)
    why = "it is larger than 16 MiB";
  else if (!buffer.data())
    why = "no memory";
  InputLines lines(fd, bytes, static_cast<char *>(buffer.data()), kBufferBytes);
  Text line;
  bool cut = false;
  if (!why && !(lines.next(line, cut) && smalloc_is_directives(line.data, line.size)))
    why = "it does not begin with '# smalloc.directives/1'";
  if (!why && !reserve(bytes / kLeastLine + 1))
    why = "no memory";
  if (!why) {
    while (cut && line.size && !directive_detail::is_space(line.data[line.size - 1]))
      line.size--; // the last word may be cut
    parse_header(line);
    Directive d;
    while (lines.next(line, cut)) {
      const DirectiveLine kind = parse_directive(line, d); // a line that was cut is bad
      bad_ += kind == DirectiveLine::kBad;
      if (kind != DirectiveLine::kDirective)
        continue;
      take(d);
      if (placed && d.numa.size != 0 && !d.numa.is("-"))
        placed(d, most_);
    }
    if (!sorted_)
      heap_sort(entries_, count_, [](const Entry &a, const Entry &b) { return a.before(b); });
  }
  uncancelled::close(fd);
  return why;
}

/// Reserves an address range for `most` entries: its pages appear as they are written.
bool Directives::reserve(size_t most) {
  void *p = mmap(nullptr, most * sizeof(Entry), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    return false;
  entries_ = static_cast<Entry *>(p);
  most_ = most;
  return true;
}

void Directives::take(const Directive &d) {
  if (count_ == most_)
    return; // impossible: each line has its least length
  Entry &entry = entries_[count_];
  entry = entry_of(d);
  entry.number = static_cast<uint32_t>(count_);
  sorted_ &= count_ == 0 || !entry.before(entries_[count_ - 1]);
  count_++;
}

/// Parses a list such as "0123456789abcdef,unknown". If it has more inputs than fit, the program
/// counts as slower with any input.
void DirectivesHeader::take_slower_inputs(Text list) {
  names_slower_inputs = true;
  for (size_t at = 0; at <= list.size;) {
    size_t end = at;
    while (end < list.size && list.data[end] != ',')
      end++;
    Text one(list.data + at, end - at);
    uint64_t input;
    at = end + 1;
    slower_unknown |= one.is("unknown");
    if (!directive_detail::take_hex(one, input) || one.size)
      continue;
    if (slower_input_count == SMALLOC_DIRECTIVE_SLOWER_INPUTS) {
      names_slower_inputs = false;
      return;
    }
    slower_inputs[slower_input_count++] = input;
  }
}

bool DirectivesHeader::was_slower_with(bool input_known, uint64_t own) const {
  if (!slower || !names_slower_inputs)
    return slower;
  if (!input_known)
    return slower_unknown;
  for (unsigned i = 0; i < slower_input_count; i++)
    if (slower_inputs[i] == own)
      return true;
  return false;
}

void Directives::parse_header(Text line) {
  using namespace directive_detail;
  for_each_header_word(line, [&](Text key, Text value) {
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
    else if (key.is("slower_inputs"))
      header_.take_slower_inputs(value);
    else if (key.is("base_input"))
      header_.has_base_input = take_hex(value, header_.base_input) && value.size == 0;
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
  });
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
