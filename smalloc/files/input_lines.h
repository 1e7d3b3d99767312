// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// input_lines.h reads a text file line by line through a small buffer of the caller. It serves code
// that runs before the program starts. The greatest cost of that start is the first touch of
// memory, so the buffer has a few pages, whatever the size of the file.
#ifndef SMALLOC_FILES_INPUT_LINES_H
#define SMALLOC_FILES_INPUT_LINES_H

#include "smalloc/base/text.h"
#include "smalloc/files/uncancelled.h"

#include <errno.h>

namespace smalloc {

class InputLines {
public:
  /// Reads at most `bytes` bytes from `fd`. The caller owns `fd` and `buffer`.
  InputLines(int fd, size_t bytes, char *buffer, size_t capacity)
      : fd_(fd), unread_(bytes), buffer_(buffer), capacity_(capacity) {}

  /// Sets `line` to the next line without its newline; valid until the next call. Returns false at
  /// the end. Sets `cut` if the line is longer than the buffer; `line` is then its beginning.
  bool next(Text &line, bool &cut) {
    cut = false;
    for (;;) {
      const char *start = buffer_ + at_;
      if (const void *newline = memchr(start, '\n', end_ - at_)) {
        line = Text(start, static_cast<size_t>(static_cast<const char *>(newline) - start));
        at_ += line.size + 1;
        if (!skipping_)
          return true;
        skipping_ = false; // end of the line that was cut
        continue;
      }
      if (skipping_)
        at_ = end_;
      const size_t held = end_ - at_;
      if (held == capacity_) {
        line = Text(buffer_, held);
        at_ = end_;
        return cut = skipping_ = true;
      }
      memmove(buffer_, buffer_ + at_, held);
      at_ = 0;
      end_ = held;
      if (fill())
        continue;
      line = Text(buffer_, held);
      at_ = end_;
      return held != 0;
    }
  }

private:
  bool fill() {
    const size_t room = capacity_ - end_;
    if (unread_ == 0)
      return false;
    ssize_t n;
    do
      n = uncancelled::read(fd_, buffer_ + end_, unread_ < room ? unread_ : room);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
      return false; // the file is shorter than `bytes`: use what was read
    unread_ -= static_cast<size_t>(n);
    end_ += static_cast<size_t>(n);
    return true;
  }

  int fd_;
  size_t unread_;
  char *buffer_;
  size_t capacity_, at_ = 0, end_ = 0;
  bool skipping_ = false;
};

} // namespace smalloc
#endif
