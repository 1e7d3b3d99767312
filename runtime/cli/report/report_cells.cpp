// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// report_cells.cpp formats values of documents as cells and words: times, counts, names, places.
#include "runtime/cli/report/report_sections.h"

#include "runtime/cli/sites/short_name.h"
#include "runtime/cli/sites/site_report.h"
#include "runtime/errors/diagnostics.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

namespace smalloc::cli {

HtmlCell percent_cell(std::optional<double> percent) {
  if (!percent)
    return {.text = "-"};
  HtmlCell cell = html_number(*percent, fmt::format("{:.1f} %", *percent));
  cell.share = *percent / 100;
  return cell;
}

std::string how_many(double n, const char *what) {
  return fmt::format("{:.0f} {}{}", n, what, n == 1 ? "" : "s");
}

HtmlCell bytes_cell(const Document &object, const char *key) {
  const auto bytes = number_field(object, key);
  if (!bytes)
    return {.text = "-"};
  return html_number(*bytes, readable_bytes(static_cast<uint64_t>(std::clamp(*bytes, 0.0, 1e18))));
}

std::string count_text(double count) {
  static constexpr std::pair<double, const char *> kUnits[] = {
      {1e15, " P"}, {1e12, " T"}, {1e9, " G"}, {1e6, " M"}};
  const double size = std::abs(count);
  if (size >= 1e18)
    return fmt::format("{:.3g}", count);
  if (size >= 1e7)
    for (const auto &[unit, name] : kUnits)
      if (size >= unit)
        return fmt::format("{:#.3g}{}", count / unit, name);
  if (size < 1000 && count != std::floor(count))
    return fmt::format("{:.3g}", count);
  std::string digits = fmt::format("{:.0f}", size);
  for (size_t at = digits.size(); at > 3; at -= 3)
    digits.insert(at - 3, ",");
  return (count < 0 ? "-" : "") + digits;
}

std::string time_text(double seconds) {
  return std::abs(seconds) >= 1 ? fmt::format("{:.1f} s", seconds)
                                : fmt::format("{:.3g} ms", seconds * 1000);
}

HtmlCell time_cell(std::optional<double> seconds) {
  return seconds ? html_number(*seconds, time_text(*seconds)) : HtmlCell{.text = "-"};
}

HtmlCell count_cell(const Document &object, const char *key) {
  const auto count = number_field(object, key);
  return count ? html_number(*count, count_text(*count)) : HtmlCell{.text = "-"};
}

HtmlCell name_cell(std::string name, bool good) {
  return {.text = std::move(name), .good = good, .is_name = true};
}

HtmlCell site_cell(const Document &object, bool good) {
  const std::string name = short_name(object), whole = with_std_string(site_name(object));
  const size_t last = name.rfind("::");
  HtmlCell cell = name_cell(name, good);
  if (last != std::string::npos) {
    cell.text = name.substr(0, last + 2);
    cell.tail = name.substr(last + 2);
  }
  if (whole != name)
    cell.full = whole;
  return cell;
}

HtmlCell place_cell(const std::string &place) {
  const std::string name = file_name(place);
  const size_t line = name.find(':');
  HtmlCell cell = name_cell(name.substr(0, line));
  if (line != std::string::npos)
    cell.tail = name.substr(line);
  if (place != name)
    cell.full = place;
  return cell;
}

HtmlCell decision_cell(const std::string &decision, const std::string &why) {
  HtmlCell cell = name_cell(decision.empty() ? "-" : decision, decision == "superpage");
  cell.beside = why;
  cell.takes_rest = true;
  return cell;
}

std::string file_name(const std::string &path) {
  return std::filesystem::path(path).filename().string();
}

std::string short_name(const Document &object) {
  const std::string name = printable(site_name(object));
  return text_field(object, "function").starts_with("_Z") ? short_function(name) : name;
}

std::string site_name(const Document &object) {
  const std::string function = text_field(object, "function");
  return function.empty() ? text_field(object, "id") : readable_function(function);
}

std::string site_place(const Document &object) {
  const std::string file = text_field(object, "file");
  const auto line = number_field(object, "line");
  return file.empty() || !line || *line < 1 ? file : fmt::format("{}:{:.0f}", file, *line);
}

std::string site_place_and_column(const Document &object) {
  const std::string place = site_place(object);
  const auto column = number_field(object, "column");
  return place.empty() || !column || *column < 1 ? place : fmt::format("{}:{:.0f}", place, *column);
}

} // namespace smalloc::cli
