// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// plot.h draws pictures, each as one self-contained SVG. The study's picture shows speed-up and
// peak memory side by side: a group of bars per command, a bar per configuration, a whisker for the
// spread. The picture of the analysis has a point per mapping: its benefit (y) over its memory (x).
// The colours are those of Okabe and Ito, which colour-blind people can distinguish.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smalloc::study {

/// Returns `text` as it stands in HTML and SVG. Control characters other than newlines become
/// spaces.
std::string escaped_html(std::string_view text);

struct Bar {
  double value = 0, low = 0, high = 0;
  bool below_noise = false; // drawn pale
};

struct BarGroup {
  std::string name;
  std::vector<Bar> bars; // one per series
};

struct BarChart {
  std::string title, unit;
  double reference = 0; // y of a horizontal line; 0: none
  std::vector<BarGroup> groups;
};

std::string svg(const std::string &title, const std::vector<std::string> &series,
                const std::vector<BarChart> &charts);

struct Point {
  double x = 0, y = 0;
  std::string name;
  bool filled = false;
};

/// Draws points with x on a logarithmic scale (base 2, 0 at the left end) and y from 0 to 100. A
/// name is drawn beside its point if there is room.
std::string scatter_svg(const std::string &title, const std::string &x_label,
                        const std::string &y_label, const std::string &filled_means,
                        const std::vector<Point> &points);

} // namespace smalloc::study
