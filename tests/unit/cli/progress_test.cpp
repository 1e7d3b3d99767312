// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// progress_test.cpp tests the text of the progress bar: share, rate, and time left at that rate.
#include "runtime/cli/progress.h"

#include <gtest/gtest.h>

namespace smalloc::cli {
namespace {

TEST(Progress, SaysRateAndTimeLeft) {
  EXPECT_EQ(progress_line("calibrating", 0.5, 3, ""),
            "calibrating [############............]  50 %, 16.7 %/s, 3 s left");
  EXPECT_EQ(progress_line("studying", 0.25, 10, "app, base"),
            "studying [######..................]  25 %, 2.5 %/s, 30 s left, app, base");
}

TEST(Progress, SaysNoRateBeforeThereIsOne) {
  EXPECT_EQ(progress_line("a", 0, 5, ""), "a [........................]   0 %");
  EXPECT_EQ(progress_line("a", 1, 0, ""), "a [########################] 100 %, 0.0 %/s, 0 s left");
  EXPECT_EQ(progress_line("a", 7, 1, ""),
            "a [########################] 100 %, 100.0 %/s, 0 s left");
}

} // namespace
} // namespace smalloc::cli
