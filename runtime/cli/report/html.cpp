// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// html.cpp writes the page's markup. Its colours are those of Okabe and Ito, which colour-blind
// people can distinguish.
#include "runtime/cli/report/html.h"

#include <algorithm>

#include <fmt/format.h>

namespace smalloc::cli {
namespace {

constexpr char kHead[] = R"html(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>{}</title>
<style>
body{{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:84em;padding:0 1em;color:#222;
  background:#fff}}
h1{{font-size:1.5em}}h2{{font-size:1.15em;margin-top:2.2em}}nav a{{margin-right:1.2em}}
figure{{margin:1em 0;overflow-x:auto}}
.wide{{overflow-x:auto}}table{{border-collapse:collapse;font-size:.93em}}
th,td{{padding:.25em .7em;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}}
th{{cursor:pointer;border-bottom:2px solid #888;white-space:nowrap}}
td.n{{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}}
td.name{{max-width:24em;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}}
p.first{{font-size:1.25em}}
td.good{{color:#006a4e;font-weight:600}}small{{display:block;color:#666;max-width:60em}}
.bar{{display:block;height:.35em;background:#e8e8e8;min-width:6em}}
.bar i{{display:block;height:100%;background:#0072b2}}
footer{{margin-top:3em;color:#666;font-size:.85em}}
@media print{{nav{{display:none}}}}
</style></head><body>
<h1>{}</h1>
)html";

// Sorts by a column when its head is clicked, numbers from the largest down; a second click
// reverses.
constexpr char kScript[] = R"html(<script>
document.querySelectorAll('th').forEach(th => th.onclick = () => {
  const body = th.closest('table').tBodies[0], n = th.cellIndex, down = th.dataset.down !== '1';
  th.dataset.down = down ? '1' : '0';
  const key = r => {
    const c = r.cells[n]; return c.dataset.v === undefined ? c.textContent : +c.dataset.v;
  };
  [...body.rows].sort((a, b) => {
    const x = key(a), y = key(b);
    return (x < y ? -1 : x > y ? 1 : 0) * (typeof x === 'number' ? -1 : 1) * (down ? 1 : -1);
  })
    .forEach(r => body.append(r));
});
</script>
)html";

} // namespace

std::string escaped_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '&':
      out += "&amp;";
      break;
    case '"':
      out += "&quot;";
      break;
    case '\'':
      out += "&#39;";
      break;
    default:
      out += static_cast<unsigned char>(c) < 0x20 && c != '\n' ? ' ' : c;
    }
  }
  return out;
}

HtmlCell html_number(double value, std::string text) {
  HtmlCell cell;
  cell.text = std::move(text);
  cell.value = value;
  return cell;
}

std::string html_paragraph(std::string_view text) {
  return text.empty() ? std::string() : "<p>" + escaped_html(text) + "</p>\n";
}

std::string HtmlTable::html() const {
  std::string out = "<div class=\"wide\"><table><thead><tr>";
  for (const std::string &name : header_)
    out += "<th>" + escaped_html(name) + "</th>";
  out += "</tr></thead><tbody>\n";
  for (const auto &row : rows_) {
    out += "<tr>";
    for (const HtmlCell &cell : row) {
      std::string classes = cell.value ? "n" : cell.is_name ? "name" : "";
      if (cell.good)
        classes += classes.empty() ? "good" : " good";
      out += "<td" + (classes.empty() ? std::string() : " class=\"" + classes + "\"");
      if (cell.is_name)
        out += " title=\"" + escaped_html(cell.full.empty() ? cell.text : cell.full) + "\"";
      if (cell.value)
        out += fmt::format(" data-v=\"{:.17g}\"", *cell.value);
      out += ">" + escaped_html(cell.text);
      if (cell.share)
        out += fmt::format("<span class=\"bar\"><i style=\"width:{:.1f}%\"></i></span>",
                           100 * std::clamp(*cell.share, 0.0, 1.0));
      if (!cell.below.empty())
        out += "<small>" + escaped_html(cell.below) + "</small>";
      out += "</td>";
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string html_page(const std::string &title, const std::vector<HtmlSection> &sections) {
  std::string out = fmt::format(kHead, escaped_html(title), escaped_html(title));
  for (const HtmlSection &section : sections)
    if (!section.first.empty())
      out += "<p class=\"first\">" + escaped_html(section.first) + "</p>\n";
  std::string summary, links;
  for (size_t i = 0; i < sections.size(); i++) {
    links += fmt::format("<a href=\"#s{}\">{}</a>", i, escaped_html(sections[i].title));
    if (!sections[i].summary.empty())
      summary += "<li>" + escaped_html(sections[i].summary) + "</li>\n";
  }
  if (!summary.empty())
    out += "<ul>\n" + summary + "</ul>\n";
  if (sections.size() > 1)
    out += "<nav>" + links + "</nav>\n";
  for (size_t i = 0; i < sections.size(); i++)
    out += fmt::format("<section id=\"s{}\"><h2>{}</h2>\n", i, escaped_html(sections[i].title)) +
           sections[i].body + "</section>\n";
  return out + "<footer>smalloc " SMALLOC_VERSION "</footer>\n" + kScript + "</body></html>\n";
}

} // namespace smalloc::cli
