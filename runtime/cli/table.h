// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// table.h decides how rows of text are aligned and coloured on a terminal: columns as wide as their
// widest cell, two spaces between, no spaces at a line's end. Width is counted in code points,
// colour takes none.
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

// At most so many code points; what is cut is marked with "...".
std::string shortened(const std::string &text, size_t columns);
// Broken between words so that no line has more columns (a longer word stays whole); lines after the first are indented.
// 0 columns: as it is.
std::string wrapped(const std::string &text, size_t columns, size_t indent);
// Of the terminal that standard output is; 0: it is none.
size_t terminal_columns();

std::string styled(const std::string &text, Style style, Colour colour);

class Table {
public:
  explicit Table(std::vector<std::string> header);
  void add_row(std::vector<Cell> cells);
  // A line of its own after the last row, outside the columns.
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
