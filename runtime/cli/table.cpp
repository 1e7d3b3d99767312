// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// table.cpp computes column widths and writes the escape codes of styles.
#include "runtime/cli/table.h"

#include <algorithm>

#include <sys/ioctl.h>
#include <unistd.h>

namespace smalloc::cli {
namespace {

size_t width(const std::string &text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

} // namespace

std::string shortened(const std::string &text, size_t columns) {
  if (width(text) <= columns)
    return text;
  constexpr size_t kDots = 3;
  if (columns < kDots)
    return std::string(columns, '.');
  size_t bytes = 0;
  for (size_t left = columns - kDots; left > 0; left--)
    for (bytes++; bytes < text.size() && (text[bytes] & 0xc0) == 0x80;)
      bytes++;
  return text.substr(0, bytes) + "...";
}

std::string wrapped(const std::string &text, size_t columns, size_t indent) {
  if (columns == 0 || width(text) <= columns)
    return text;
  std::string out;
  size_t column = 0;
  for (size_t from = 0; from < text.size();) {
    // Take a word with the spaces before it.
    size_t word = text.find_first_not_of(' ', from);
    if (word == std::string::npos)
      word = text.size();
    const size_t end = std::min(text.find(' ', word), text.size());
    std::string piece = text.substr(from, end - from);
    if (column > indent && column + width(piece) > columns) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
      piece.erase(0, word - from);
    }
    out += piece;
    column += width(piece);
    from = end;
  }
  return out;
}

size_t terminal_columns() {
  winsize size;
  return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string styled(const std::string &text, Style style, Colour colour) {
  if (colour == Colour::kOff || style == Style::kPlain || text.empty())
    return text;
  const char *code = "";
  switch (style) {
  case Style::kPlain:
    break;
  case Style::kBold:
    code = "1";
    break;
  case Style::kGood:
    code = "32";
    break;
  case Style::kWarn:
    code = "33";
    break;
  case Style::kBad:
    code = "31";
    break;
  case Style::kFaint:
    code = "2";
    break;
  }
  return std::string("\x1b[") + code + "m" + text + "\x1b[0m";
}

Table::Table(std::vector<std::string> header) {
  Row row;
  for (std::string &name : header)
    row.cells.push_back({std::move(name), Style::kBold});
  rows_.push_back(std::move(row));
}

void Table::add_row(std::vector<Cell> cells) { rows_.push_back({std::move(cells), false}); }

void Table::add_line(std::string text, Style style) {
  rows_.push_back({{Cell{std::move(text), style}}, true});
}

std::string Table::print(Colour colour) const {
  std::vector<size_t> widths;
  for (const Row &row : rows_)
    for (size_t i = 0; !row.spans && i < row.cells.size(); i++) {
      widths.resize(std::max(widths.size(), i + 1));
      widths[i] = std::max(widths[i], width(row.cells[i].text));
    }
  std::string out;
  for (const Row &row : rows_) {
    size_t last = row.cells.size();
    while (last > 0 && row.cells[last - 1].text.empty())
      last--;
    for (size_t i = 0; i < last; i++) {
      out += styled(row.cells[i].text, row.cells[i].style, colour);
      if (i + 1 < last)
        out.append(widths[i] - width(row.cells[i].text) + 2, ' ');
    }
    out += '\n';
  }
  return out;
}

} // namespace smalloc::cli
