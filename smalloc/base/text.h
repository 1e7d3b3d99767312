// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// text.h formats text for people into a fixed buffer, without stdio and without malloc. The buffer
// drops text that does not fit. Sizes are IEC units with one decimal ("1.5 MiB").
#ifndef SMALLOC_BASE_TEXT_H
#define SMALLOC_BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace smalloc {

/// Refers to characters that the caller owns. They are not NUL-terminated.
struct Text {
  const char *data = nullptr;
  size_t size = 0;
  constexpr Text() = default;
  constexpr Text(const char *d, size_t n) : data(d), size(n) {}
  Text(const char *z) : data(z), size(z ? strlen(z) : 0) {} // NOLINT: a literal is a text
  bool is(const char *z) const { return strlen(z) == size && memcmp(data, z, size) == 0; }
};

/// Returns the share in `t`, above 0 and at most 1, such as 0.01 or 1e-3; -1 if `t` is not a share.
/// Ignores the locale.
inline double parse_share(Text t) {
  size_t at = 0;
  double value = 0, unit = 1;
  bool any = false, point = false;
  for (; at < t.size && ((t.data[at] >= '0' && t.data[at] <= '9') || (t.data[at] == '.' && !point));
       at++) {
    if (t.data[at] == '.') {
      point = true;
      continue;
    }
    any = true;
    value = value * 10 + (t.data[at] - '0');
    if (point)
      unit *= 10;
  }
  if (any && at < t.size && (t.data[at] == 'e' || t.data[at] == 'E')) {
    at++;
    const bool minus = at < t.size && t.data[at] == '-';
    at += minus;
    int exponent = 0;
    any = at < t.size;
    for (; at < t.size && t.data[at] >= '0' && t.data[at] <= '9' && exponent < 100; at++)
      exponent = exponent * 10 + (t.data[at] - '0');
    for (; exponent > 0; exponent--)
      (minus ? unit : value) *= 10;
  }
  const double share = value / unit;
  return any && at == t.size && share > 0 && share <= 1 ? share : -1;
}

template <size_t kCapacity> class TextBuffer {
public:
  TextBuffer &put(Text t) {
    size_t n = t.size < kCapacity - size_ ? t.size : kCapacity - size_;
    if (n)
      memcpy(data_ + size_, t.data, n);
    size_ += n;
    return *this;
  }
  TextBuffer &put_char(char c) { return put(Text(&c, 1)); }
  TextBuffer &number(uint64_t value) {
    char digits[20];
    size_t n = 0;
    do
      digits[sizeof digits - ++n] = static_cast<char>('0' + value % 10);
    while (value /= 10);
    return put(Text(digits + sizeof digits - n, n));
  }
  TextBuffer &hex(uint64_t value) { // 16 digits, the form of all printed site ids
    for (int shift = 60; shift >= 0; shift -= 4)
      put_char("0123456789abcdef"[(value >> shift) & 15]);
    return *this;
  }
  TextBuffer &bytes(uint64_t value) {
    static const char *const kNames[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    unsigned unit = 0;
    uint64_t scale = 1;
    while (unit < 4 && value / scale >= 1024) {
      scale *= 1024;
      unit++;
    }
    number(value / scale);
    if (unit)
      put_char('.').number(value % scale * 10 / scale);
    return put_char(' ').put(kNames[unit]);
  }
  /// Pads with spaces up to column `wanted`, counted from the start of the buffer's last line.
  TextBuffer &column(size_t wanted) {
    size_t start = size_;
    while (start > 0 && data_[start - 1] != '\n')
      start--;
    while (size_ - start < wanted && size_ < kCapacity)
      put_char(' ');
    return *this;
  }
  const char *data() const { return data_; }
  size_t size() const { return size_; }
  Text text() const { return Text(data_, size_); }
  void clear() { size_ = 0; }

private:
  char data_[kCapacity];
  size_t size_ = 0;
};

} // namespace smalloc
#endif
