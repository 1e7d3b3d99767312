// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "smalloc/process/resident_peak.h"

#include <gtest/gtest.h>

namespace smalloc {
namespace {

TEST(ResidentPeakTest, MemoryThatTakesThePlaceOfFreedMemoryDoesNotRaiseThePeak) {
  ResidentPeak peak;
  peak.note(100);
  EXPECT_FALSE(peak.would_rise(60, 40));
  EXPECT_TRUE(peak.would_rise(100, 1));
}

TEST(ResidentPeakTest, RequestedMemoryCountsBeforeItIsTouched) {
  ResidentPeak peak;
  peak.note(100);
  EXPECT_FALSE(peak.would_rise(60, 30));
  EXPECT_TRUE(peak.would_rise(60, 20));  // nothing was touched since
  EXPECT_FALSE(peak.would_rise(60, 30)); // the caller gave kept memory back
  EXPECT_FALSE(peak.would_rise(80, 10)); // 20 of 30 were touched
}

TEST(ResidentPeakTest, MeasuringWhileMemoryGrowsAllowsNoMore) {
  ResidentPeak peak;
  peak.note(1000);
  EXPECT_FALSE(peak.would_rise(990, 10));
  EXPECT_TRUE(peak.would_rise(1000, 10));
  EXPECT_TRUE(peak.would_rise(1010, 10)); // it has grown nevertheless
}

TEST(ResidentPeakTest, UnknownMemoryRaisesThePeak) {
  ResidentPeak peak;
  peak.note(100);
  EXPECT_TRUE(peak.would_rise(0, 1));
}

} // namespace
} // namespace smalloc
