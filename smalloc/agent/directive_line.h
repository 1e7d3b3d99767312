// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// directive_line.h decides what a line of a directives file means (docs/directives.md), for the allocator, which
// reads files that others wrote before the program has started, and for the command. No allocation.
//
//   0123456789abcdef[/context] page=2m rank=1 pmb=87.5 superpages=512 numa=- held=2/3 # function file:line
#ifndef SMALLOC_AGENT_DIRECTIVE_LINE_H
#define SMALLOC_AGENT_DIRECTIVE_LINE_H

#include "smalloc/base/text.h"

#include <stdint.h>

namespace smalloc {

inline constexpr char kDirectivesHeader[] = "# smalloc.directives/1";

struct Directive {
  uint64_t site = 0;
  uint64_t context = 0; ///< context_hash of the inline chain; with has_context
  bool has_context = false;
  unsigned page_shift = 0; ///< 12: the program's malloc; 16, 21, 30
  uint64_t rank = 0, superpages = 0;
  uint64_t pmb_thousandths = 0; ///< of a percent
  bool has_pmb = false; ///< a line without means what it says, whatever else wants superpages
  uint64_t held = 0,
           validated = 0; ///< it did what it promised in so many of the runs that were looked at
  Text numa;              ///< "-" or empty: nothing said
  Text comment;           ///< behind #, without the space
};

enum class DirectiveLine { kNothing, kDirective, kBad };

namespace directive_detail {

inline bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

inline bool take_hex(Text &t, uint64_t &value) {
  if (t.size < 16)
    return false;
  value = 0;
  for (int i = 0; i < 16; i++) {
    const char c = t.data[i];
    const unsigned digit = c >= '0' && c <= '9'   ? static_cast<unsigned>(c - '0')
                           : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a' + 10)
                                                  : 16;
    if (digit == 16)
      return false;
    value = value << 4 | digit;
  }
  t = Text(t.data + 16, t.size - 16);
  return true;
}

/// Digits, and up to `decimals` behind a point, as an integer of the last decimal.
inline bool parse_decimal(Text t, unsigned decimals, uint64_t &value) {
  constexpr uint64_t kMost = uint64_t{1} << 56;
  value = 0;
  bool point = false;
  if (t.size == 0)
    return false;
  for (size_t i = 0; i < t.size; i++) {
    if (t.data[i] == '.' && !point && i > 0 && decimals) {
      point = true;
      continue;
    }
    if (t.data[i] < '0' || t.data[i] > '9' || value > kMost)
      return false;
    if (point && decimals == 0)
      continue; // finer than we keep
    value = value * 10 + static_cast<uint64_t>(t.data[i] - '0');
    decimals -= point;
  }
  while (decimals--)
    value *= 10;
  return true;
}

inline bool parse_page(Text t, unsigned &shift) {
  if (t.is("base"))
    shift = 12;
  else if (t.is("64k"))
    shift = 16;
  else if (t.is("2m"))
    shift = 21;
  else if (t.is("1g"))
    shift = 30;
  else
    return false;
  return true;
}

/// False when the value makes no sense. Keys that nobody knows yet are passed over.
inline bool take_field(Text field, Directive &d) {
  size_t equals = 0;
  while (equals < field.size && field.data[equals] != '=')
    equals++;
  if (equals == 0 || equals == field.size)
    return false;
  const Text value(field.data + equals + 1, field.size - equals - 1);
  // A program waits for some thousand of these at its start: most keys are told by their length.
  const auto key = [&](const char *name, size_t size) {
    return equals == size && memcmp(field.data, name, size) == 0;
  };
  if (key("page", 4))
    return parse_page(value, d.page_shift);
  if (key("rank", 4))
    return parse_decimal(value, 0, d.rank);
  if (key("superpages", 10))
    return parse_decimal(value, 0, d.superpages);
  if (key("pmb", 3))
    return d.has_pmb = parse_decimal(value, 3, d.pmb_thousandths);
  if (key("held", 4)) {
    size_t slash = 0;
    while (slash < value.size && value.data[slash] != '/')
      slash++;
    return slash < value.size && parse_decimal(Text(value.data, slash), 0, d.held) &&
           parse_decimal(Text(value.data + slash + 1, value.size - slash - 1), 0, d.validated) &&
           d.held <= d.validated;
  }
  if (key("numa", 4))
    d.numa = value;
  return true;
}

} // namespace directive_detail

/// `line` without its newline. Empty lines and comments are nothing; a line without site or page is bad.
inline DirectiveLine parse_directive(Text line, Directive &d) {
  using namespace directive_detail;
  d = Directive();
  const auto skip = [&line] {
    while (line.size && is_space(line.data[0]))
      line = Text(line.data + 1, line.size - 1);
  };
  skip();
  if (line.size == 0 || line.data[0] == '#')
    return DirectiveLine::kNothing;
  if (!take_hex(line, d.site))
    return DirectiveLine::kBad;
  if (line.size && line.data[0] == '/') {
    line = Text(line.data + 1, line.size - 1);
    if (!take_hex(line, d.context))
      return DirectiveLine::kBad;
    d.has_context = true;
  }
  if (line.size && !is_space(line.data[0]))
    return DirectiveLine::kBad;
  for (;;) {
    skip();
    if (line.size == 0)
      break;
    if (line.data[0] == '#') {
      line = Text(line.data + 1, line.size - 1);
      skip();
      d.comment = line;
      break;
    }
    size_t end = 0;
    while (end < line.size && !is_space(line.data[end]))
      end++;
    if (!take_field(Text(line.data, end), d))
      return DirectiveLine::kBad;
    line = Text(line.data + end, line.size - end);
  }
  return d.page_shift ? DirectiveLine::kDirective : DirectiveLine::kBad;
}

/// Of a site's inline chain (site.h), to tell its copies apart: FNV-1a.
inline uint64_t context_hash(Text context) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < context.size; i++)
    hash = (hash ^ static_cast<unsigned char>(context.data[i])) * 0x100000001b3u;
  return hash;
}

} // namespace smalloc
#endif
