// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// report_other.cpp writes the section of a document without a section of its own: a table of its
// single values, a table per list of objects, and a table per group of objects with equal keys.
// Keys become words, and values have the unit that their keys name.
#include "runtime/cli/history/history_store.h"
#include "runtime/cli/report/report_sections.h"
#include "runtime/cli/sites/site_report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace smalloc::cli {
namespace {

constexpr size_t kMostColumns = 64; // of a list whose objects have different keys

enum class Unit { kNone, kBytes, kRate, kSeconds, kNanoseconds, kHertz, kPercent };

struct UnitWord {
  const char *word;
  Unit unit;
  bool is_shown; // true: the key's words keep it
};
constexpr UnitWord kUnitWords[] = {{"bytes_per_second", Unit::kRate, false},
                                   {"bytes", Unit::kBytes, true},
                                   {"seconds", Unit::kSeconds, false},
                                   {"ns", Unit::kNanoseconds, false},
                                   {"hz", Unit::kHertz, false},
                                   {"percent", Unit::kPercent, false}};

bool is_part(std::string_view key, size_t at, size_t size) {
  const auto is_edge = [&](size_t place) { return place >= key.size() || key[place] == '_'; };
  return (at == 0 || is_edge(at - 1)) && is_edge(at + size);
}

// Finds the unit that a word of a path names, also one before a further word: "big_bytes_peak".
const UnitWord *unit_word(std::string_view word, size_t &at) {
  for (const UnitWord &unit : kUnitWords) {
    at = word.rfind(unit.word);
    if (at != std::string::npos && is_part(word, at, std::string_view(unit.word).size()))
      return &unit;
  }
  return nullptr;
}

// Returns the unit of a value. The values of two runs have the unit of the key around them; their
// ratio has none.
Unit unit_of(std::string_view path) {
  static constexpr std::string_view kOfTheOuterKey[] = {"with", "without", "before", "after",
                                                        "difference"};
  for (;;) {
    const size_t dot = path.rfind('.');
    const std::string_view word = path.substr(dot + 1); // all of it without a dot
    size_t at = 0;
    if (const UnitWord *unit = unit_word(word, at))
      return unit->unit;
    const bool is_outer = std::find(std::begin(kOfTheOuterKey), std::end(kOfTheOuterKey), word) !=
                          std::end(kOfTheOuterKey);
    if (dot == std::string_view::npos || !is_outer)
      return Unit::kNone;
    path = path.substr(0, dot);
  }
}

// Returns the words of one key. A unit behind other words is left out: the value has it.
std::string words_of_key(std::string_view key) {
  size_t at = 0;
  const UnitWord *unit = unit_word(key, at);
  const bool is_last = unit && at > 0 && at + std::string_view(unit->word).size() == key.size();
  std::string words(is_last && !unit->is_shown ? key.substr(0, at - 1) : key);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

HtmlCell number_cell(Unit unit, double number) {
  const bool is_time_of_day = unit == Unit::kNanoseconds && number > 1e17;
  switch (std::abs(number) > 1e18 && !is_time_of_day ? Unit::kNone : unit) {
  case Unit::kBytes:
    return html_number(number, (number < 0 ? "-" : "") +
                                   readable_bytes(static_cast<uint64_t>(std::abs(number))));
  case Unit::kRate:
    return html_number(number, readable_bytes(static_cast<uint64_t>(std::max(number, 0.0))) + "/s");
  case Unit::kSeconds:
    return time_cell(number);
  case Unit::kNanoseconds:
    if (is_time_of_day && number < 9e18)
      return {.text = readable_time(static_cast<int64_t>(number))};
    return html_number(number, std::abs(number) < 1e6 ? fmt::format("{:.3g} ns", number)
                                                      : time_text(number / 1e9));
  case Unit::kHertz:
    return html_number(number, fmt::format("{:.3g} GHz", number / 1e9));
  case Unit::kPercent:
    return percent_cell(number);
  case Unit::kNone:
    break;
  }
  return html_number(number, std::abs(number) < 1e18 && number == std::floor(number)
                                 ? count_text(number)
                                 : fmt::format("{:.4g}", number));
}

// True for a value of two runs, as `smalloc diff` prints it.
bool is_comparison(const Document &value) {
  return value.is_object() && value.contains("before") && value.contains("after") &&
         !value["before"].is_structured() && !value["after"].is_structured();
}

// Shows one value if both runs have it.
HtmlCell comparison_cell(const std::string &key, const Document &value) {
  HtmlCell cell = value_cell(key, value["after"]);
  if (value["before"] != value["after"])
    cell.text = value_cell(key, value["before"]).text + " → " + cell.text;
  return cell;
}

// Flattens nested objects into entries with keys like "outer.inner", because a table cell cannot
// show JSON.
std::vector<std::pair<std::string, Document>> flat(const Document &object) {
  std::vector<std::pair<std::string, Document>> all;
  for (const auto &[key, value] : object.items()) {
    if (!value.is_object() || value.empty() || is_comparison(value)) {
      all.emplace_back(key, value);
      continue;
    }
    for (auto &[inner, part] : flat(value))
      all.emplace_back(key + "." + inner, std::move(part));
  }
  return all;
}

// Returns the words of a list of numbers and words. For a list of objects it returns how many there
// are.
std::string words_of(const Document &value) {
  if (value.is_boolean())
    return value.get<bool>() ? "yes" : "no";
  if (!value.is_array())
    return "-";
  std::string words;
  for (const Document &element : value) {
    if (element.is_structured())
      return fmt::format("{} {}", value.size(), value.size() == 1 ? "entry" : "entries");
    words +=
        (words.empty() ? "" : ", ") +
        (element.is_string() ? element.get<std::string>()
                             : element.dump(-1, ' ', false, Document::error_handler_t::replace));
  }
  return words.empty() ? "-" : words;
}

bool is_list_of_objects(const Document &value) {
  return value.is_array() && !value.empty() &&
         std::all_of(value.begin(), value.end(), [](const Document &e) { return e.is_object(); });
}

// Returns the keys of an object of single values, in one text; empty for any other value.
std::string keys_of(const Document &object) {
  std::string keys;
  if (!object.is_object())
    return {};
  for (const auto &[key, value] : object.items()) {
    if (value.is_structured())
      return {};
    keys += key + "\n";
  }
  return keys;
}

std::string titled(const std::string &key, const HtmlTable &table) {
  return (key.empty() ? "" : "<h3>" + escaped_html(key_words(key)) + "</h3>\n") + table.html();
}

// Returns a table with a row for each of the named members, whose keys are those of the first.
HtmlTable group_table(const Document &object, const std::vector<std::string> &names) {
  std::vector<std::string> header = {""};
  for (const auto &[inner, value] : object[names.front()].items())
    header.push_back(key_words(inner));
  HtmlTable table(std::move(header));
  for (const std::string &name : names) {
    std::vector<HtmlCell> cells = {{.text = key_words(name)}};
    for (const auto &[inner, value] : object[name].items())
      cells.push_back(value_cell(name + "." + inner, value));
    table.add_row(std::move(cells));
  }
  return table;
}

// Returns the last words of the columns' keys, or all words where the last ones are not unique.
std::vector<std::string> header_of(const std::vector<std::string> &columns) {
  const auto last = [](const std::string &path) { return path.substr(path.rfind('.') + 1); };
  std::vector<std::string> header;
  for (const std::string &column : columns) {
    const bool is_unique = std::count_if(columns.begin(), columns.end(), [&](const auto &other) {
                             return last(other) == last(column);
                           }) == 1;
    header.push_back(key_words(is_unique ? last(column) : column));
  }
  return header;
}

// Returns a table with a row per object, or nothing if the objects have too many keys.
std::string list_html(const std::string &key, const Document &list) {
  std::vector<std::string> columns;
  std::vector<std::map<std::string, Document>> rows;
  for (const Document &element : list) {
    rows.emplace_back();
    for (const auto &[name, inner] : flat(element)) {
      rows.back().emplace(name, inner);
      if (columns.size() <= kMostColumns &&
          std::find(columns.begin(), columns.end(), name) == columns.end())
        columns.push_back(name);
    }
  }
  if (columns.size() > kMostColumns)
    return {};
  HtmlTable table(header_of(columns));
  for (const auto &row : rows) {
    std::vector<HtmlCell> cells;
    for (const std::string &name : columns) {
      const auto at = row.find(name);
      cells.push_back(value_cell(name, at == row.end() ? Document() : at->second));
    }
    table.add_row(std::move(cells));
  }
  return titled(key, table);
}

// Adds the values of an object to the table of single values, and the others as tables: a list of
// objects, and members with equal keys.
void add_values(const std::string &path, const Document &object, HtmlTable &plain,
                std::string &tables) {
  std::map<std::string, std::vector<std::string>> groups;
  for (const auto &[key, value] : object.items())
    if (std::string keys = keys_of(value); !keys.empty())
      groups[std::move(keys)].push_back(key);
  for (const auto &[inner, value] : object.items()) {
    const std::string key = path.empty() ? inner : path + "." + inner;
    const auto group = groups.find(keys_of(value));
    if (group != groups.end() && group->second.size() > 1) {
      if (group->second.front() == inner)
        tables += titled(path, group_table(object, group->second));
      continue;
    }
    const std::string table = is_list_of_objects(value) ? list_html(key, value) : "";
    if (!table.empty())
      tables += table;
    else if (value.is_object() && !value.empty())
      add_values(key, value, plain, tables);
    else if (key != "schema")
      plain.add_row({{.text = key_words(key)}, value_cell(key, value)});
  }
}

} // namespace

std::string key_words(const std::string &path) {
  std::string words;
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find('.', at), path.size());
    words += (at > 0 ? ": " : "") + words_of_key(std::string_view(path).substr(at, end - at));
    at = end + 1;
  }
  return words;
}

HtmlCell value_cell(const std::string &key, const Document &value) {
  const size_t last = key.find_last_of("._") + 1; // 0 without one
  const bool is_name = key.ends_with("id") || key.substr(last) == "line";
  if (value.is_number_integer() && is_name)
    return html_number(value.get<double>(), value.dump());
  if (is_comparison(value))
    return comparison_cell(key, value);
  return value.is_number()   ? number_cell(unit_of(key), value.get<double>())
         : value.is_string() ? name_cell(value.get<std::string>())
         : value.is_null()   ? HtmlCell{.text = "-"}
                             : HtmlCell{.text = words_of(value)};
}

HtmlSection other_section(const ReportInput &input) {
  // "smalloc.try/1" is what `smalloc try` printed.
  const std::string schema = text_field(input.document, "schema");
  const size_t dot = schema.find('.'), slash = schema.rfind('/');
  const std::string verb =
      dot == std::string::npos ? schema : schema.substr(dot + 1, slash - dot - 1);
  HtmlSection section{"smalloc " + verb + ": " + file_name(input.name), "", ""};
  HtmlTable plain({"what", "value"});
  std::string tables;
  add_values("", input.document, plain, tables);
  section.body = (plain.empty() ? "" : plain.html()) + tables;
  return section;
}

} // namespace smalloc::cli
