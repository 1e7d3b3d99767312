// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each run reads the same standard input, from where it stood; a pipe is read once.
#include "runtime/study/kept_input.h"

#include <cstdio>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace smalloc::study {
namespace {

std::string rest_of(int fd) {
  std::string text;
  char data[64];
  for (ssize_t got; (got = read(fd, data, sizeof data)) > 0;)
    text.append(data, static_cast<size_t>(got));
  return text;
}

void no_wait_expected() { ADD_FAILURE() << "said that it waits"; }

TEST(KeptInput, RewindsAFileToWhereItStood) {
  std::FILE *file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  std::fputs("readrest", file);
  std::fflush(file);
  lseek(fileno(file), 4, SEEK_SET);
  KeptInput input(fileno(file), no_wait_expected);
  EXPECT_EQ(rest_of(input.rewound()), "rest");
  EXPECT_EQ(rest_of(input.rewound()), "rest");
  std::fclose(file);
}

TEST(KeptInput, KeepsWhatAPipeHolds) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "piped", 5), 5);
  close(ends[1]);
  KeptInput input(ends[0], no_wait_expected);
  close(ends[0]);
  EXPECT_EQ(rest_of(input.rewound()), "piped");
  EXPECT_EQ(rest_of(input.rewound()), "piped");
}

TEST(KeptInput, DevicesAndClosedDescriptorsGiveNone) {
  const int nothing = open("/dev/null", O_RDONLY);
  EXPECT_EQ(KeptInput(nothing, no_wait_expected).rewound(), -1);
  close(nothing);
  EXPECT_EQ(KeptInput(nothing, no_wait_expected).rewound(), -1);
}

} // namespace
} // namespace smalloc::study
