// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "smalloc/files/input_lines.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <unistd.h>
#include <vector>

using namespace smalloc;

namespace {

class InputLinesTest : public testing::Test {
protected:
  void SetUp() override {
    char name[] = "/tmp/smalloc-lines.XXXXXX";
    fd_ = mkstemp(name);
    ASSERT_GE(fd_, 0);
    unlink(name);
  }
  void TearDown() override { close(fd_); }

  /// Returns the lines of a file with this text; "<" marks a line that was cut.
  std::vector<std::string> lines(const std::string &text, size_t capacity,
                                 size_t bytes = SIZE_MAX) {
    EXPECT_EQ(ftruncate(fd_, 0), 0);
    EXPECT_EQ(pwrite(fd_, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    EXPECT_EQ(lseek(fd_, 0, SEEK_SET), 0);
    std::vector<char> buffer(capacity);
    InputLines input(fd_, bytes, buffer.data(), capacity);
    std::vector<std::string> found;
    Text line;
    bool cut;
    while (input.next(line, cut))
      found.push_back((cut ? "<" : "") + std::string(line.data, line.size));
    EXPECT_FALSE(input.next(line, cut));
    return found;
  }
  int fd_ = -1;
};

using Lines = std::vector<std::string>;

// Holds wherever in a line a read ends.
TEST_F(InputLinesTest, AnyBufferGivesTheSameLines) {
  const Lines whole = {"", "a", "four", "", "", "seven77", "x"};
  for (size_t capacity = 8; capacity < 40; capacity++) {
    EXPECT_EQ(lines("\na\nfour\n\n\nseven77\nx\n", capacity), whole) << capacity;
    EXPECT_EQ(lines("\na\nfour\n\n\nseven77\nx", capacity), whole) << capacity;
  }
}

TEST_F(InputLinesTest, LongLinesAreCutAndTheNextIsWhole) {
  EXPECT_EQ(lines("0123456789\nab\n", 4), (Lines{"<0123", "ab"}));
  EXPECT_EQ(lines("ab\n0123456789", 4), (Lines{"ab", "<0123"}));
  EXPECT_EQ(lines("0123\nab", 4), (Lines{"<0123", "ab"})); // its newline did not fit
  EXPECT_EQ(lines("012\n01234567\n01234567\nz\n", 4), (Lines{"012", "<0123", "<0123", "z"}));
}

TEST_F(InputLinesTest, NoMoreThanWasAskedFor) {
  EXPECT_EQ(lines("ab\ncdef\n", 16, 5), (Lines{"ab", "cd"}));
  EXPECT_EQ(lines("", 16), Lines());
  EXPECT_EQ(lines("ab\n", 16, 0), Lines());
}

TEST_F(InputLinesTest, AFileThatCannotBeReadHasNone) {
  char buffer[16];
  InputLines input(-1, 100, buffer, sizeof buffer);
  Text line;
  bool cut;
  EXPECT_FALSE(input.next(line, cut));
}

} // namespace
