// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// html.h decides how pages look: one self-contained file each (no network, no server), readable without script, which only
// sorts tables. Whatever a program's names hold is text there, never markup.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smalloc::cli {

std::string escaped_html(std::string_view text);

struct HtmlCell {
  std::string text = {};            // escaped when it is printed
  std::optional<double> value = {}; // a number: to the right, and what the column is sorted by
  std::optional<double> share = {}; // 0 to 1: a bar behind the number
  bool good = false;                // what pays, or was chosen
  std::string below = {};           // in small print, below the text
  bool is_name = false;  // on one line, cut where it is long: a C++ name is wider than a page
  std::string full = {}; // shown when somebody points at it; empty: the text, of names
};
HtmlCell html_number(double value, std::string text);

class HtmlTable {
public:
  explicit HtmlTable(std::vector<std::string> header) : header_(std::move(header)) {}
  void add_row(std::vector<HtmlCell> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  std::string html() const;

private:
  std::vector<std::string> header_;
  std::vector<std::vector<HtmlCell>> rows_;
};

struct HtmlSection {
  std::string title;   // text
  std::string summary; // text: one sentence for the top of the page; empty: none
  std::string body;    // markup
  std::string first =
      {}; // text: what is asked first, in large print before all else; empty: nothing
};
std::string html_paragraph(std::string_view text);
std::string html_page(const std::string &title, const std::vector<HtmlSection> &sections);

} // namespace smalloc::cli
