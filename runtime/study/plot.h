// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// plot.h decides what pictures are: one self-contained SVG each. The study's: speed-up and peak memory side
// by side, a group of bars a command, a bar a configuration, the spread as a whisker. The analysis': a point a mapping, its benefit
// over what it takes. Colours are Okabe and Ito's, which the colour-blind can tell apart.
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

struct Point {
  double x = 0, y = 0;
  std::string name;
  bool filled = false;
};

/// x by the power of two, 0 at the left end; y from 0 to 100. Names stand beside the points as far as there is room.
std::string scatter_svg(const std::string &title, const std::string &x_label,
                        const std::string &y_label, const std::string &filled_means,
                        const std::vector<Point> &points);

} // namespace smalloc::study
