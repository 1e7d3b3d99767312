// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// numbers.h parses the numbers of settings and of the kernel's files: decimal digits only, and
// sizes with an IEC suffix k, m, g or t. It allocates nothing and ignores the locale.
#ifndef SMALLOC_BASE_NUMBERS_H
#define SMALLOC_BASE_NUMBERS_H

#include "smalloc/base/text.h"

namespace smalloc {

/// Returns the decimal number at `at`, 0 if there is none, and moves `at` behind it. Leaves out
/// digits that would overflow.
inline uint64_t take_number(const char *&at) {
  uint64_t value = 0;
  for (; *at >= '0' && *at <= '9'; at++)
    if (value <= (UINT64_MAX - 9) / 10)
      value = value * 10 + static_cast<uint64_t>(*at - '0');
  return value;
}

/// Parses `value` as a decimal number. Returns false if it is not a number or above UINT64_MAX - 6.
inline bool parse_number(Text value, uint64_t &number) {
  if (value.size == 0)
    return false;
  number = 0;
  for (size_t i = 0; i < value.size; i++) {
    char c = value.data[i];
    if (c < '0' || c > '9' || number > (UINT64_MAX - 9) / 10)
      return false;
    number = number * 10 + static_cast<uint64_t>(c - '0');
  }
  return true;
}

/// Parses a size such as "64m", "1g" or "4096" with the IEC suffixes k, m, g and t. Returns false
/// if `value` has another form or overflows.
inline bool parse_bytes(Text value, uint64_t &bytes) {
  static const char kSuffixes[] = "kmgt";
  unsigned shift = 0;
  if (value.size)
    for (unsigned i = 0; i < 4; i++)
      if ((value.data[value.size - 1] | 0x20) == kSuffixes[i])
        shift = 10 * (i + 1);
  uint64_t number;
  if (!parse_number(Text(value.data, value.size - (shift ? 1 : 0)), number) ||
      number > (UINT64_MAX >> shift))
    return false;
  bytes = number << shift;
  return true;
}

/// Parses a size from `least` to `most`. Leaves `bytes` as it is if `value` is none.
inline bool parse_bytes_between(Text value, uint64_t least, uint64_t most, uint64_t &bytes) {
  uint64_t number;
  if (!parse_bytes(value, number) || number < least || number > most)
    return false;
  bytes = number;
  return true;
}

} // namespace smalloc
#endif
