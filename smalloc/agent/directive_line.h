// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// directive_line.h parses a line of a directives file (docs/reference.md), for the allocator,
// which reads a foreign file before the program starts, for the command and for the compiler. It
// allocates nothing.
//
// Example, a single line in the file:
//   0123456789abcdef[/context] page=2m rank=1 pmb=87.5 superpages=512 numa=- held=2/3
//     # function file:line
#ifndef SMALLOC_AGENT_DIRECTIVE_LINE_H
#define SMALLOC_AGENT_DIRECTIVE_LINE_H

#include "smalloc/base/fnv.h"
#include "smalloc/base/text.h"
#include "smalloc/include/smalloc/directive.h"

#include <bit>
#include <stdint.h>

namespace smalloc {

inline constexpr char kDirectivesHeader[] = SMALLOC_DIRECTIVES_HEADER;

struct Directive {
  uint64_t site = 0;
  uint64_t context = 0; ///< context_hash() of the inline chain; valid with has_context
  bool has_context = false;
  unsigned page_shift = 0; ///< 12: the program's malloc; 16, 21, 30
  uint64_t rank = 0, superpages = 0;
  bool has_rank = false;
  uint64_t pmb_thousandths = 0; ///< thousandths of a percent
  bool has_pmb = false; ///< without one the line always applies, whatever else wants superpages
  uint64_t held = 0, validated = 0; ///< runs in which it held, and runs that were validated
  Text numa;                        ///< "-" or empty: no placement
  Text comment;                     ///< text after #, without the space
};

enum class DirectiveLine { kNothing, kDirective, kBad };

namespace directive_detail {

inline bool is_space(char c) {
  constexpr uint64_t kSpaces = uint64_t{1} << ' ' | uint64_t{1} << '\t' | uint64_t{1} << '\r';
  const auto number = static_cast<unsigned char>(c);
  return number <= ' ' && (kSpaces >> number & 1);
}

inline Text rest_of(Text t, size_t from) { return Text(t.data + from, t.size - from); }

/// Parses eight hexadecimal digits at once, the first the highest. Computes the number and compares
/// its digits with the text; returns false if they differ.
inline bool parse_hex8(const char *digits, uint64_t &value) {
  constexpr uint64_t kEach = 0x0101010101010101u;
  uint64_t written;
  memcpy(&written, digits, sizeof written);
  if constexpr (std::endian::native == std::endian::big)
    written = __builtin_bswap64(written);
  uint64_t v = (written & kEach * 0x0f) + (written >> 6 & kEach) * 9; // letters have bit 6
  const uint64_t above_9 = (v + kEach * 6) >> 4 & kEach;
  if (v & kEach * 0xf0 || v + kEach * '0' + above_9 * ('a' - '0' - 10) != written)
    return false;
  v = (v << 4 | v >> 8) & 0x00ff00ff00ff00ffu;
  v = (v << 8 | v >> 16) & 0x0000ffff0000ffffu;
  value = (v << 16 | v >> 32) & 0xffffffffu;
  return true;
}

/// Parses 16 digits at the beginning of `t` and removes them.
inline bool take_hex(Text &t, uint64_t &value) {
  uint64_t high, low;
  if (t.size < 16 || !parse_hex8(t.data, high) || !parse_hex8(t.data + 8, low))
    return false;
  value = high << 32 | low;
  t = rest_of(t, 16);
  return true;
}

/// Parses digits at the beginning of `t`, and up to `decimals` digits after a point, and removes
/// them. The value counts units of the last decimal.
inline bool take_decimal(Text &t, unsigned decimals, uint64_t &value) {
  constexpr ptrdiff_t kMostDigits = 18;
  constexpr uint64_t kMostWithDecimals = 1'000'000'000'000'000; // times a thousand it still fits
  const char *at = t.data, *const end = t.data + t.size;
  uint64_t v = 0;
  unsigned digit;
  const auto next_is_digit = [&] {
    return at != end && (digit = static_cast<unsigned>(*at - '0')) < 10;
  };
  for (; next_is_digit(); at++)
    v = v * 10 + digit;
  if (at == t.data || at - t.data > kMostDigits)
    return false;
  if (decimals && v > kMostWithDecimals)
    v = kMostWithDecimals;
  if (decimals && at != end && *at == '.') {
    for (at++; decimals && next_is_digit(); at++, decimals--)
      v = v * 10 + digit;
    while (next_is_digit()) // finer than the value
      at++;
  }
  while (decimals--)
    v *= 10;
  value = v;
  t = rest_of(t, static_cast<size_t>(at - t.data));
  return true;
}

/// Parses all of `t`.
inline bool parse_decimal(Text t, unsigned decimals, uint64_t &value) {
  return take_decimal(t, decimals, value) && t.size == 0;
}

/// Removes `word` from the beginning of `t`. Returns false if `t` does not begin with it.
template <size_t kSize> inline bool take_word(Text &t, const char (&word)[kSize]) {
  if (t.size < kSize - 1 || memcmp(t.data, word, kSize - 1) != 0)
    return false;
  t = rest_of(t, kSize - 1);
  return true;
}

inline Text take_to_space(Text &t) {
  size_t size = 0;
  while (size < t.size && !is_space(t.data[size]))
    size++;
  const Text taken(t.data, size);
  t = rest_of(t, size);
  return taken;
}

inline bool take_page(Text &t, unsigned &shift) {
  shift = take_word(t, "2m")     ? 21
          : take_word(t, "base") ? 12
          : take_word(t, "64k")  ? 16
          : take_word(t, "1g")   ? 30
                                 : 0;
  return shift != 0;
}

/// Parses the field at the beginning of `t`, up to the next space. Returns false if it is
/// malformed. Skips unknown keys. A program's start waits for some ten thousand fields, so it reads
/// each character once.
inline bool take_field(Text &t, Directive &d) {
  bool good = true;
  if (take_word(t, "page="))
    good = take_page(t, d.page_shift);
  else if (take_word(t, "rank="))
    good = d.has_rank = take_decimal(t, 0, d.rank);
  else if (take_word(t, "pmb="))
    good = d.has_pmb = take_decimal(t, 3, d.pmb_thousandths);
  else if (take_word(t, "superpages="))
    good = take_decimal(t, 0, d.superpages);
  else if (take_word(t, "held="))
    good = take_decimal(t, 0, d.held) && take_word(t, "/") && take_decimal(t, 0, d.validated) &&
           d.held <= d.validated;
  else if (take_word(t, "numa="))
    d.numa = take_to_space(t);
  else {
    const Text field = take_to_space(t);
    const void *equals = memchr(field.data, '=', field.size);
    good = equals && equals != field.data;
  }
  return good && (t.size == 0 || is_space(t.data[0]));
}

} // namespace directive_detail

/// Parses `line` without its newline. Empty lines and comments are kNothing; a line without site or
/// page is kBad.
inline DirectiveLine parse_directive(Text line, Directive &d) {
  using namespace directive_detail;
  d = Directive();
  const Text whole = line;
  const auto skip = [&line] {
    while (line.size && is_space(line.data[0]))
      line = rest_of(line, 1);
  };
  skip();
  if (line.size == 0 || line.data[0] == '#')
    return DirectiveLine::kNothing;
  if (whole.size > SMALLOC_DIRECTIVE_MOST_BYTES || !take_hex(line, d.site))
    return DirectiveLine::kBad;
  if (line.size && line.data[0] == '/') {
    line = rest_of(line, 1);
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
      line = rest_of(line, 1);
      skip();
      d.comment = line;
      break;
    }
    if (!take_field(line, d))
      return DirectiveLine::kBad;
  }
  return d.page_shift ? DirectiveLine::kDirective : DirectiveLine::kBad;
}

/// Calls visit(key, value) for each word "key=value" of a file's first line.
template <class Visit> void for_each_header_word(Text line, Visit visit) {
  using namespace directive_detail;
  line = rest_of(line, sizeof kDirectivesHeader - 1);
  while (line.size) {
    const Text word = take_to_space(line);
    if (const void *equals = memchr(word.data, '=', word.size)) {
      const auto key = static_cast<size_t>(static_cast<const char *>(equals) - word.data);
      visit(Text(word.data, key), rest_of(word, key + 1));
    }
    line = rest_of(line, line.size != 0);
  }
}

/// Returns the hash of a site's inline chain (site.h), by FNV-1a. It distinguishes the site's
/// copies.
inline uint64_t context_hash(Text context) { return fnv1a(context.data, context.size); }

} // namespace smalloc
#endif
