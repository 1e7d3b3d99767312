// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// html.h writes HTML pages. A page is one self-contained file (no network, no server) and readable
// without its script, which only sorts tables. Names from a program are escaped and never become
// markup. A cell that is cut to one line can have the focus, and shows its whole text then.
#pragma once

#include "runtime/study/plot.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smalloc::cli {

using study::escaped_html;

struct HtmlCell {
  std::string text = {};            // escaped when printed
  std::optional<double> value = {}; // a number: right-aligned, and the key of the column's sort
  std::optional<double> share = {}; // 0 to 1: bar behind the number
  bool good = false;                // true: it pays, or was chosen
  std::string below = {};           // small print below the text
  bool is_name = false;    // true: one line, cut if too long; a C++ name can be wider than a page
  std::string tail = {};   // of a name: its end, which is cut last
  std::string beside = {}; // of a name: small print behind it, in the same line
  bool takes_rest = false; // of a name: the column takes the width that the others leave
  std::string full = {};   // tooltip, also shown with the focus; empty: the text is whole
  bool is_empty() const { return !value && (text.empty() || text == "-") && beside.empty(); }
};
HtmlCell html_number(double value, std::string text);

/// Writes a table. A column with a number is right-aligned, with the cells that have none. A column
/// of which nothing is known is left out. Of a long table the first rows are shown, and a box shows
/// the others.
class HtmlTable {
public:
  explicit HtmlTable(std::vector<std::string> header) : header_(std::move(header)) {}
  void add_row(std::vector<HtmlCell> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const; // true if no cell has anything
  std::string html() const;

private:
  bool has_number(size_t column) const;
  bool is_unknown(size_t column) const;

  std::vector<std::string> header_;
  std::vector<std::vector<HtmlCell>> rows_;
};

struct HtmlSection {
  std::string title;      // text
  std::string summary;    // text: one sentence for the top of the page; empty: none
  std::string body;       // markup
  std::string first = {}; // text: answer in large print at the top of the page; empty: none
};
std::string html_paragraph(std::string_view text);
std::string html_page(const std::string &title, const std::vector<HtmlSection> &sections);

} // namespace smalloc::cli
