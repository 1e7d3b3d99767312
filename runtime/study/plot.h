// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// plot.h decides what the study's picture is: one self-contained SVG, speed-up and peak memory side
// by side, a group of bars a command, a bar a configuration, the spread as a whisker. Colours are
// Okabe and Ito's, which the colour-blind can tell apart.
#pragma once

#include <string>
#include <vector>

namespace smalloc::study {

struct Bar {
  double value = 0, low = 0, high = 0;
  bool below_noise = false; // drawn pale
};

struct BarGroup {
  std::string name;
  std::vector<Bar> bars; // one a series
};

struct BarChart {
  std::string title, unit;
  double reference = 0; // a line across, 0: none
  std::vector<BarGroup> groups;
};

std::string svg(const std::string &title, const std::vector<std::string> &series,
                const std::vector<BarChart> &charts);

} // namespace smalloc::study
