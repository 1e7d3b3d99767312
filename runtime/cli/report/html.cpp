// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// html.cpp writes the page's markup. Its colours are those of Okabe and Ito, which colour-blind
// people can distinguish.
#include "runtime/cli/report/html.h"

#include <algorithm>

#include <fmt/format.h>

namespace smalloc::cli {
namespace {

constexpr size_t kShownRows = 25; // of a long table; also in the style below

constexpr char kHead[] = R"html(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>{}</title>
<style>
:root{{color-scheme:light dark;--text:#222;--page:#fff;--faint:#666;--line:#ddd;--head:#888;
  --track:#e8e8e8;--bar:#0072b2;--good:#006a4e;--link:#0b57a4;--open:#f3f6f9}}
@media (prefers-color-scheme:dark){{:root{{--text:#e2e2e2;--page:#181a1b;--faint:#a2a2a2;
  --line:#3a3d3f;--head:#777;--track:#3a3d3f;--bar:#56b4e9;--good:#4fd1a5;--link:#8ab4f8;
  --open:#24282b}}
  figure svg{{filter:invert(.9) hue-rotate(180deg)}}}}
*{{box-sizing:border-box}}
body{{font:15px/1.45 system-ui,sans-serif;margin:1.5em auto;max-width:118em;padding:0 1.5em;
  color:var(--text);background:var(--page)}}
h1{{font-size:1.5em}}h2{{font-size:1.15em;margin-top:2.2em}}h3{{font-size:1em;margin:1.4em 0 .3em}}
a{{color:var(--link)}}nav a{{display:inline-block;margin-right:1.2em}}
p,li{{max-width:62em;overflow-wrap:anywhere}}
figure{{margin:1em 0;overflow-x:auto}}
.wide{{overflow-x:auto}}table{{border-collapse:collapse;font-size:.93em;margin:.4em 0}}
th,td{{padding:.25em .7em;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}}
th{{cursor:pointer;border-bottom:2px solid var(--head);vertical-align:bottom;max-width:10em}}
th[aria-sort=descending]::after{{content:" \25be"}}
th[aria-sort=ascending]::after{{content:" \25b4"}}
th.n,td.n{{text-align:right}}td.n{{font-variant-numeric:tabular-nums;white-space:nowrap}}
td.name{{max-width:24vw}}
td.name>div{{display:flex;align-items:baseline;overflow:hidden;white-space:nowrap}}
td.name>div>*{{overflow:hidden;text-overflow:ellipsis;flex:0 1 auto;min-width:0}}
td.name>div>.cut{{flex-shrink:9999}}td.name span.cut{{min-width:2em}}
td.name small{{margin-left:.6em}}
table td.name.why{{width:100%;max-width:0;min-width:14em}}
td.name:focus{{background:var(--open);outline:2px solid var(--bar);outline-offset:-2px}}
td.name:focus>div{{display:block;white-space:normal;overflow-wrap:anywhere}}
td.whole:focus::after{{content:attr(title);display:block;overflow-wrap:anywhere;font-size:.9em}}
p.first{{font-size:1.25em;margin:.5em 0}}
td.good{{color:var(--good);font-weight:600}}small{{color:var(--faint);font-weight:400}}
td.n small{{display:block}}
.bar{{display:block;height:.35em;background:var(--track);min-width:4em}}
.bar i{{display:block;height:100%;background:var(--bar)}}
.long:not(:has(input:checked)) tbody tr:nth-child(n+26){{display:none}}
footer{{margin-top:3em;color:var(--faint);font-size:.85em}}
@media (max-width:1100px){{table{{font-size:.82em}}th,td{{padding:.25em .4em}}
  td.name{{max-width:19vw}}table td.name.why{{min-width:12em}}}}
@media (max-width:900px){{th,td{{padding:.25em .3em}}td.name{{max-width:15vw}}
  table:has(.why) td.name{{max-width:18vw}}td.name>div{{flex-wrap:wrap}}
  table td.name.why{{min-width:10em}}td.name small{{margin-left:0}}}}
@media print{{nav,.long>label{{display:none}}
  body{{max-width:none;margin:0;padding:0;font-size:11px}}
  .wide,figure{{overflow:visible}}td.name{{max-width:15em}}
  th,td{{padding:.2em .4em}}
  tr,figure{{break-inside:avoid}}h2,h3{{break-after:avoid}}.bar,.bar i{{print-color-adjust:exact}}}}
</style></head><body>
<h1>{}</h1>
)html";

// Sorts by a column when its head is clicked or entered, numbers from the largest down; a second
// time reverses.
constexpr char kScript[] = R"html(<script>
document.querySelectorAll('th').forEach(th => {
  const sort = () => {
    const body = th.closest('table').tBodies[0], n = th.cellIndex;
    const numbers = th.classList.contains('n'), before = th.getAttribute('aria-sort');
    const down = before ? before === 'ascending' : numbers;
    th.parentNode.querySelectorAll('th').forEach(other => other.removeAttribute('aria-sort'));
    th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    const key = r => {
      const c = r.cells[n];
      return !numbers ? c.textContent : c.dataset.v === undefined ? -Infinity : +c.dataset.v;
    };
    [...body.rows].sort((a, b) => {
      const x = key(a), y = key(b);
      return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
    })
      .forEach(r => body.append(r));
  };
  th.tabIndex = 0;
  th.title = 'sort by this column';
  th.onclick = sort;
  th.onkeydown = e => {
    if (e.key === 'Enter' || e.key === ' ') {
      e.preventDefault();
      sort();
    }
  };
});
</script>
)html";

std::string classes_of(const HtmlCell &cell, bool is_number) {
  std::string classes = cell.is_name ? "name" : is_number ? "n" : "";
  if (cell.is_name && !cell.full.empty())
    classes += " whole";
  if (cell.is_name && cell.takes_rest)
    classes += " why";
  if (cell.good)
    classes += classes.empty() ? "good" : " good";
  return classes;
}

// Returns the parts of a name, of which the first is cut first.
std::string name_html(const HtmlCell &cell) {
  std::string out = "<div>";
  out += cell.tail.empty() ? "<span>" + escaped_html(cell.text) + "</span>"
                           : "<span class=\"cut\">" + escaped_html(cell.text) + "</span><span>" +
                                 escaped_html(cell.tail) + "</span>";
  if (!cell.beside.empty())
    out += "<small class=\"cut\">" + escaped_html(cell.beside) + "</small>";
  return out + "</div>";
}

std::string cell_html(const HtmlCell &cell, bool is_number) {
  constexpr size_t kShort = 12; // bytes of text that are never cut
  const std::string classes = classes_of(cell, is_number);
  std::string out = "<td" + (classes.empty() ? std::string() : " class=\"" + classes + "\"");
  if (cell.is_name) {
    std::string whole = cell.text + cell.tail;
    if (!cell.beside.empty())
      whole += ": " + cell.beside;
    if (!cell.full.empty() || whole.size() > kShort)
      out +=
          " tabindex=\"0\" title=\"" + escaped_html(cell.full.empty() ? whole : cell.full) + "\"";
  }
  if (cell.value)
    out += fmt::format(" data-v=\"{:.17g}\"", *cell.value);
  out += ">" + (cell.is_name ? name_html(cell) : escaped_html(cell.text));
  if (cell.share)
    out += fmt::format("<span class=\"bar\"><i style=\"width:{:.1f}%\"></i></span>",
                       100 * std::clamp(*cell.share, 0.0, 1.0));
  if (!cell.below.empty())
    out += "<small>" + escaped_html(cell.below) + "</small>";
  return out + "</td>";
}

} // namespace

HtmlCell html_number(double value, std::string text) {
  HtmlCell cell;
  cell.text = std::move(text);
  cell.value = value;
  return cell;
}

std::string html_paragraph(std::string_view text) {
  return text.empty() ? std::string() : "<p>" + escaped_html(text) + "</p>\n";
}

bool HtmlTable::has_number(size_t column) const {
  return std::any_of(rows_.begin(), rows_.end(), [&](const std::vector<HtmlCell> &row) {
    return column < row.size() && row[column].value;
  });
}

bool HtmlTable::is_unknown(size_t column) const {
  return std::all_of(rows_.begin(), rows_.end(), [&](const std::vector<HtmlCell> &row) {
    return column >= row.size() || row[column].is_empty();
  });
}

bool HtmlTable::empty() const {
  for (size_t i = 0; i < header_.size(); i++)
    if (!is_unknown(i))
      return false;
  return true;
}

std::string HtmlTable::html() const {
  if (empty())
    return {};
  std::vector<bool> numbers, unknown;
  std::string out = "<div class=\"wide\"><table><thead><tr>";
  for (size_t i = 0; i < header_.size(); i++) {
    numbers.push_back(has_number(i));
    unknown.push_back(is_unknown(i));
    if (!unknown[i])
      out += (numbers[i] ? "<th class=\"n\">" : "<th>") + escaped_html(header_[i]) + "</th>";
  }
  out += "</tr></thead><tbody>\n";
  for (const auto &row : rows_) {
    out += "<tr>";
    for (size_t i = 0; i < std::min(row.size(), header_.size()); i++)
      if (!unknown[i])
        out += cell_html(row[i], numbers[i]);
    out += "</tr>\n";
  }
  out += "</tbody></table></div>\n";
  if (rows_.size() <= kShownRows)
    return out;
  return fmt::format("<div class=\"long\"><label><input type=\"checkbox\"> show all {} rows, not "
                     "only the first {}</label>\n{}</div>\n",
                     rows_.size(), kShownRows, out);
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
