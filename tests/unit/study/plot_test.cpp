// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// plot_test.cpp tests where the names of points are drawn, and what covers what.
#include "runtime/study/plot.h"

#include <gtest/gtest.h>

namespace smalloc::study {
namespace {

std::string drawn(const std::vector<Point> &points) {
  return scatter_svg("title", "x", "y", "chosen", points);
}

TEST(ScatterPlot, AShortNameIsOnTheRight) {
  const std::string svg = drawn({{8, 100, "1: main a.c:3", true}});
  EXPECT_NE(svg.find(">1: main a.c:3</text>"), std::string::npos) << svg;
  EXPECT_EQ(svg.find("text-anchor=\"end\">1: main"), std::string::npos) << svg;
}
TEST(ScatterPlot, ALongNameIsOnTheSideWithRoom) {
  const std::string name = "1: Registry<>::acquire_staging_run registry.h:65";
  const std::string svg = drawn({{8, 100, name, true}});
  EXPECT_NE(svg.find("text-anchor=\"end\">1: Registry"), std::string::npos) << svg;
}
TEST(ScatterPlot, AVeryLongNameKeepsItsEnds) {
  const std::string svg = drawn({{8, 100, "1: " + std::string(200, 'x') + " registry.h:65", true}});
  EXPECT_NE(svg.find(">1: xxx"), std::string::npos) << svg;
  EXPECT_NE(svg.find("xxx registry.h:65</text>"), std::string::npos) << svg;
  EXPECT_EQ(svg.find(std::string(120, 'x') + " registry.h:65</text>"), std::string::npos) << svg;
}
TEST(ScatterPlot, AFilledPointIsOnTop) {
  const std::string svg = drawn({{4, 1, "chosen", true}, {4, 0, "other", false}});
  EXPECT_LT(svg.find("<title>other"), svg.find("<title>chosen")) << svg;
}

} // namespace
} // namespace smalloc::study
