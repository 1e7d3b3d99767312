// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// table.h prints rows of text with aligned columns and colours. A column is as wide as its widest
// cell, two spaces are between columns, and a line has no trailing spaces. Width is counted in code
// points; colours have no width.
#pragma once

#include <string>
#include <vector>

namespace smalloc::cli {

enum class Style { kPlain, kBold, kGood, kWarn, kBad, kFaint };
enum class Colour { kOff, kOn };

struct Cell {
  std::string text;
  Style style = Style::kPlain;
};

// Returns at most `columns` code points of `text`; "..." marks the cut.
std::string shortened(const std::string &text, size_t columns);
// Returns `text` broken between words into lines of at most `columns` (a longer word stays whole).
// Lines after the first are indented. 0 columns: unchanged.
std::string wrapped(const std::string &text, size_t columns, size_t indent);
// Returns the columns of the terminal on standard output; 0: it is no terminal.
size_t terminal_columns();

std::string styled(const std::string &text, Style style, Colour colour);

class Table {
public:
  explicit Table(std::vector<std::string> header);
  void add_row(std::vector<Cell> cells);
  // Adds a line after the last row, outside the columns.
  void add_line(std::string text, Style style = Style::kPlain);
  std::string print(Colour colour) const;

private:
  struct Row {
    std::vector<Cell> cells;
    bool spans = false;
  };
  std::vector<Row> rows_;
};

} // namespace smalloc::cli
