// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// report_history_test.cpp tests what the section of a history says about saved time.
#include "runtime/cli/report/report_sections.h"

#include <gtest/gtest.h>

namespace smalloc::cli {
namespace {

std::string body_of(double measured, double predicted, int inputs) {
  const Document realised{
      {"measured_seconds", measured}, {"predicted_seconds", predicted}, {"inputs", inputs}};
  return history_section({"show.json", {{"schema", "smalloc.db-show/1"}, {"realised", realised}}})
      .body;
}

TEST(ReportHistory, TheSavingOfARunIsTheMeanOverTheInputs) {
  const std::string text = "Superpages save 200 ms a run; 300 ms were predicted.";
  EXPECT_NE(body_of(0.4, 0.6, 2).find(text), std::string::npos) << body_of(0.4, 0.6, 2);
}

TEST(ReportHistory, WithoutRunsToCompareNothingIsSaved) {
  EXPECT_EQ(body_of(0, 0, 0).find("a run"), std::string::npos) << body_of(0, 0, 0);
}

} // namespace
} // namespace smalloc::cli
