// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// plot.cpp computes the layout of the pictures and writes their SVG.
#include "runtime/study/plot.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace smalloc::study {
namespace {

constexpr const char *kColours[] = {"#999999", "#0072b2", "#e69f00", "#009e73",
                                    "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"};
constexpr double kHeight = 260, kTop = 60, kBottom = 60, kLeft = 60, kBar = 18, kGap = 24;

// Returns the step between the lines of an axis from 0 to `most`: 1, 2 or 5 times a power of ten,
// so that there are three to six lines.
double tick_step(double most) {
  const double rough = most / 5, power = std::pow(10, std::floor(std::log10(rough)));
  for (double factor : {1.0, 2.0, 5.0})
    if (rough <= factor * power)
      return factor * power;
  return 10 * power;
}

double width_of(const BarChart &chart, size_t series) {
  return kLeft +
         static_cast<double>(chart.groups.size()) * (static_cast<double>(series) * kBar + kGap) +
         kGap;
}

std::string draw(const BarChart &chart, size_t series, double x) {
  // The values may come from a foreign file. Infinite values are skipped and the axis is clamped to
  // a range that can be divided.
  double most = chart.reference;
  for (const BarGroup &group : chart.groups)
    for (const Bar &bar : group.bars)
      for (const double value : {bar.value, bar.high})
        if (std::isfinite(value))
          most = std::max(most, value);
  most = most > 0 ? std::clamp(most, 1e-9, 1e18) * 1.05 : 1;
  const double width = width_of(chart, series);
  const auto y = [&](double value) {
    return kTop + kHeight * (1 - std::clamp(value / most, 0.0, 1.0));
  };
  std::string out = fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" font-weight=\"bold\">{}</text>\n",
                                x + kLeft, kTop - 12, escaped_html(chart.title));
  const double step = tick_step(most);
  constexpr int kMostTicks = 12;
  for (int i = 0; i <= kMostTicks && i * step <= most; i++) {
    const double tick = i * step;
    out += fmt::format("<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" "
                       "stroke=\"#dddddd\"/><text x=\"{:.1f}\" y=\"{:.1f}\" "
                       "text-anchor=\"end\">{:g}</text>\n",
                       x + kLeft, x + width, y(tick), y(tick), x + kLeft - 6, y(tick) + 4, tick);
  }
  out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x + 4, kTop - 12,
                     escaped_html(chart.unit));
  double at = x + kLeft + kGap;
  for (const BarGroup &group : chart.groups) {
    const double middle = at + static_cast<double>(series) * kBar / 2;
    for (size_t i = 0; i < group.bars.size(); i++, at += kBar) {
      const Bar &bar = group.bars[i];
      if (bar.value <= 0)
        continue;
      out += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
                         "fill=\"{}\" fill-opacity=\"{}\"><title>{}: {:.4g}</title></rect>\n",
                         at, y(bar.value), kBar - 2, y(0) - y(bar.value),
                         kColours[i % std::size(kColours)], bar.below_noise ? "0.4" : "1",
                         escaped_html(group.name), bar.value);
      if (bar.high > bar.low)
        out += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" "
                           "stroke=\"#222222\"/>\n",
                           at + kBar / 2 - 1, y(bar.low), y(bar.high));
    }
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", middle,
                       kTop + kHeight + 18, escaped_html(group.name));
    at += kGap;
  }
  if (chart.reference > 0)
    out += fmt::format("<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" "
                       "stroke=\"#222222\" stroke-dasharray=\"4 3\"/>\n",
                       x + kLeft, x + width, y(chart.reference), y(chart.reference));
  return out;
}

// Writes a point's name on the side of the point with room for it. A name that fits on neither side
// loses its middle: the end, which has the place in the source, is kept.
std::string name_beside(std::string name, double x, double y, double width) {
  constexpr double kApart = 9, kCharacter = 6.3; // pixels; mean of a sans-serif font of
                                                 // size 12
  const double right = width - x - kApart, left = x - kApart - kLeft;
  const bool before = kCharacter * static_cast<double>(name.size()) > right && left > right;
  const auto most = static_cast<size_t>(std::max(before ? left : right, 60.0) / kCharacter);
  if (name.size() > most) {
    constexpr std::string_view kCut = "...";
    const size_t tail = (most - kCut.size()) * 2 / 3, head = most - kCut.size() - tail;
    // Bytes of one character stay together.
    size_t from = name.size() - tail, to = head;
    while (from < name.size() && (static_cast<unsigned char>(name[from]) & 0xc0) == 0x80)
      from++;
    while (to > 0 && (static_cast<unsigned char>(name[to]) & 0xc0) == 0x80)
      to--;
    name = name.substr(0, to) + std::string(kCut) + name.substr(from);
  }
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n",
                     before ? x - kApart : x + kApart, y + 4, before ? " text-anchor=\"end\"" : "",
                     escaped_html(name));
}

} // namespace

std::string escaped_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\'')
      out += "&#39;";
    else
      out += static_cast<unsigned char>(c) < 0x20 && c != '\n' ? ' ' : c;
  }
  return out;
}

std::string svg(const std::string &title, const std::vector<std::string> &series,
                const std::vector<BarChart> &charts) {
  double x = 0;
  std::string body;
  for (const BarChart &chart : charts) {
    body += draw(chart, series.size(), x);
    x += width_of(chart, series.size()) + 20;
  }
  const double width = std::max(x, 420.0), height = kTop + kHeight + kBottom;
  std::string legend;
  double at = kLeft;
  for (size_t i = 0; i < series.size(); i++) {
    legend += fmt::format("<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"12\" height=\"12\" fill=\"{}\"/>"
                          "<text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n",
                          at, height - 24, kColours[i % std::size(kColours)], at + 16, height - 14,
                          escaped_html(series[i]));
    at += 32 + 8 * static_cast<double>(series[i].size());
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{2:.0f}\" y=\"20\" font-size=\"15\">{3}</text>\n{4}{5}</svg>\n",
      std::max(width, at), height, kLeft, escaped_html(title), body, legend);
}

std::string scatter_svg(const std::string &title, const std::string &x_label,
                        const std::string &y_label, const std::string &filled_means,
                        const std::vector<Point> &points) {
  constexpr double kWidth = 480, kNames = 200, kLine = 14;
  double most = 1;
  for (const Point &point : points)
    most = std::max(most, point.x);
  const double octaves = std::ceil(std::log2(most + 1));
  const auto x = [&](double value) { return kLeft + kWidth * std::log2(value + 1) / octaves; };
  const auto y = [&](double value) {
    return kTop + kHeight * (1 - std::clamp(value / 100, 0.0, 1.0));
  };
  std::string body;
  for (int tick = 0; tick <= 100; tick += 20)
    body += fmt::format(
        "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#dddddd\"/>"
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
        kLeft, kLeft + kWidth, y(tick), y(tick), kLeft - 6, y(tick) + 4, tick);
  const int skip = octaves > 12 ? 2 : 1;
  for (int octave = 0; octave <= static_cast<int>(octaves); octave += skip) {
    const double value = octave == 0 ? 0 : std::exp2(octave - 1);
    body += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:g}</text>\n",
                        x(value), kTop + kHeight + 18, value);
  }
  const double width = kLeft + kWidth + kNames;
  std::vector<double> taken; // y positions of the names
  std::string filled;        // drawn last: a point that counts is never covered
  for (const Point &point : points) {
    const double left = x(point.x), top = y(point.y);
    (point.filled ? filled : body) +=
        fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"{}\" stroke=\"{}\" "
                    "stroke-width=\"1.5\">"
                    "<title>{}: {:.4g}, {:.4g}</title></circle>\n",
                    left, top, point.filled ? kColours[1] : "white", kColours[1],
                    escaped_html(point.name), point.x, point.y);
    if (std::none_of(taken.begin(), taken.end(),
                     [&](double other) { return std::abs(other - top) < kLine; })) {
      body += name_beside(point.name, left, top, width);
      taken.push_back(top);
    }
  }
  body += filled;
  const double height = kTop + kHeight + kBottom;
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{2:.0f}\" y=\"20\" font-size=\"15\">{3}</text>\n"
      "<text x=\"4\" y=\"{4:.0f}\">{5}</text>\n"
      "<text x=\"{6:.0f}\" y=\"{7:.0f}\" text-anchor=\"middle\">{8} (filled: "
      "{9})</text>\n{10}</svg>\n",
      width, height, kLeft, escaped_html(title), kTop - 14, escaped_html(y_label),
      kLeft + kWidth / 2, kTop + kHeight + 40, escaped_html(x_label), escaped_html(filled_means),
      body);
}

} // namespace smalloc::study
