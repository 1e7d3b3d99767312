// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// directives_file.cpp parses, prints, compares and merges directives files.
#include "runtime/directives/directives_file.h"
#include "smalloc/agent/directive_line.h"
#include "smalloc/include/smalloc/directive.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <sstream>

namespace smalloc::directives {
namespace {

constexpr unsigned kBaseShift = 12;

std::string text_of(Text t) { return {t.data ? t.data : "", t.size}; }

// Replaces control characters: a comment stays on its line, whatever a symbol is called.
std::string one_line(std::string text) {
  for (char &c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == 127)
      c = '?';
  return text;
}

} // namespace

const char *page_name(unsigned page_shift) {
  switch (page_shift) {
  case 16:
    return "64k";
  case 21:
    return "2m";
  case 30:
    return "1g";
  default:
    return "base";
  }
}

File parse(std::string_view text) {
  if (!smalloc_is_directives(text.data(), text.size()))
    throw FormatError("it does not begin with '# smalloc.directives/1'");
  File file;
  size_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (++number == 1) {
      for_each_header_word(Text(line.data(), line.size()), [&](Text key, Text value) {
        file.header.insert_or_assign(text_of(key), text_of(value));
      });
      continue;
    }
    Directive d;
    switch (parse_directive(Text(line.data(), line.size()), d)) {
    case DirectiveLine::kNothing:
      break;
    case DirectiveLine::kBad:
      file.bad_lines.push_back(number);
      break;
    case DirectiveLine::kDirective:
      file.entries.emplace(Key{d.site, d.has_context, d.context},
                           Entry{d.page_shift, d.rank, d.superpages,
                                 static_cast<double>(d.pmb_thousandths) / 1000,
                                 d.numa.is("-") ? std::string() : text_of(d.numa),
                                 text_of(d.comment), d.held, d.validated, d.has_pmb});
    }
  }
  return file;
}

std::string print_key(const Key &key) {
  char text[48];
  if (key.has_context)
    std::snprintf(text, sizeof text, "%016llx/%016llx", static_cast<unsigned long long>(key.site),
                  static_cast<unsigned long long>(key.context));
  else
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(key.site));
  return text;
}

std::string print(const File &file) {
  std::string text = kDirectivesHeader;
  for (const auto &[key, value] : file.header) {
    std::string word = one_line(value);
    std::replace(word.begin(), word.end(), ' ', '_');
    text += " " + key + "=" + word;
  }
  text += "\n";
  for (const auto &[key, entry] : file.entries) {
    char fields[160], pmb[64] = "";
    if (entry.has_pmb)
      std::snprintf(pmb, sizeof pmb, " pmb=%.1f", entry.pmb_percent);
    std::snprintf(fields, sizeof fields,
                  " page=%s rank=%llu%s superpages=%llu numa=", page_name(entry.page_shift),
                  static_cast<unsigned long long>(entry.rank), pmb,
                  static_cast<unsigned long long>(entry.superpages));
    std::string line = print_key(key) + fields + (entry.numa.empty() ? "-" : entry.numa);
    if (entry.validated)
      line += " held=" + std::to_string(entry.held) + "/" + std::to_string(entry.validated);
    // No longer than a reader takes: the line that was read may have had fewer fields.
    constexpr std::string_view kBefore = " # ";
    if (!entry.comment.empty() && line.size() + kBefore.size() < SMALLOC_DIRECTIVE_MOST_BYTES)
      line += std::string(kBefore) +
              one_line(entry.comment)
                  .substr(0, SMALLOC_DIRECTIVE_MOST_BYTES - line.size() - kBefore.size());
    text += line + "\n";
  }
  return text;
}

std::vector<Difference> compare(const File &before, const File &after) {
  std::vector<Difference> list;
  const auto inputs_of = [](const File &file) {
    return slower_input_count(file) ? file.header.at(kSlowerInputs) : std::string();
  };
  const bool other_inputs = inputs_of(before) != inputs_of(after);
  for (const auto &[key, entry] : before.entries) {
    const auto other = after.entries.find(key);
    if (other == after.entries.end())
      list.push_back({key, &entry, nullptr});
    else if (const unsigned decided = decided_shift(before, entry);
             decided_shift(after, other->second) != decided ||
             (decided != kBaseShift && other_inputs))
      list.push_back({key, &entry, &other->second});
  }
  for (const auto &[key, entry] : after.entries)
    if (!before.entries.contains(key))
      list.push_back({key, nullptr, &entry});
  std::sort(list.begin(), list.end(),
            [](const Difference &a, const Difference &b) { return a.key < b.key; });
  return list;
}

double trusted_pmb(const Entry &entry) {
  return is_given_up(entry)
             ? 0
             : (entry.has_pmb ? entry.pmb_percent : 100) * static_cast<double>(entry.held + 1) /
                   static_cast<double>(entry.validated + 1);
}

bool is_given_up(const Entry &entry) {
  return smalloc_directive_given_up(entry.held, entry.validated);
}

static bool was_slower(const File &file) {
  const auto verdict = file.header.find("verdict");
  return verdict != file.header.end() && verdict->second == "slower";
}

size_t slower_input_count(const File &file) {
  const auto inputs = file.header.find(kSlowerInputs);
  if (inputs == file.header.end() || !was_slower(file))
    return 0;
  const auto n =
      static_cast<size_t>(1 + std::count(inputs->second.begin(), inputs->second.end(), ','));
  return n <= SMALLOC_DIRECTIVE_SLOWER_INPUTS ? n : 0;
}

bool was_slower_with(const File &file, const std::string &input) {
  return was_slower(file) && (slower_input_count(file) == 0 ||
                              file.header.at(kSlowerInputs).find(input) != std::string::npos);
}

unsigned decided_shift(const File &file, const Entry &entry) {
  const bool with_any = was_slower(file) && slower_input_count(file) == 0;
  return with_any || is_given_up(entry) ? kBaseShift : entry.page_shift;
}

void give_ranks(File &file) {
  std::vector<std::pair<const Key *, Entry *>> order;
  for (auto &[key, entry] : file.entries) {
    entry.rank = 0;
    if (entry.page_shift > 12 && !is_given_up(entry))
      order.emplace_back(&key, &entry);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto &a, const auto &b) {
    const double left_a = trusted_pmb(*a.second), left_b = trusted_pmb(*b.second);
    if (left_a != left_b)
      return left_a > left_b;
    return a.second->superpages < b.second->superpages;
  });
  for (size_t i = 0; i < order.size(); i++)
    order[i].second->rank = i + 1;
}

// Returns the union of two lists.
static std::set<std::string> united(const std::string &one, const std::string &other) {
  std::set<std::string> all;
  for (std::istringstream list(one + "," + other); list;)
    if (std::string input; std::getline(list, input, ',') && !input.empty())
      all.insert(input);
  return all;
}

// Merges headers. Keeps words that are equal in both files. The words of the history (base_...) are
// kept only if all of them are equal, since a history is of one input. The lists of slower inputs
// are united.
static void merge_headers(File &result, const File &a, const File &b) {
  const auto word = [](const File &file, const std::string &key) {
    const auto at = file.header.find(key);
    return at == file.header.end() ? std::string() : at->second;
  };
  const std::string base = "base_", slower_inputs = kSlowerInputs;
  bool same_history = true;
  for (const File *file : {&a, &b})
    for (const auto &[key, value] : file->header)
      same_history &= !key.starts_with(base) || word(a, key) == word(b, key);
  for (const auto &[key, value] : a.header)
    if (word(b, key) == value && (same_history || !key.starts_with(base)))
      result.header.emplace(key, value);
  const std::string one = word(a, slower_inputs), other = word(b, slower_inputs);
  if (one == other || one.empty() || other.empty() || !result.header.contains("verdict"))
    return; // the same inputs, or any input
  const std::set<std::string> all = united(one, other);
  std::string joined;
  for (const std::string &input : all)
    joined += (joined.empty() ? "" : ",") + input;
  if (all.size() <= SMALLOC_DIRECTIVE_SLOWER_INPUTS)
    result.header[slower_inputs] = joined;
}

File merge(const File &a, const File &b) {
  File result;
  merge_headers(result, a, b);
  result.entries = a.entries;
  for (const auto &[key, entry] : b.entries) {
    const auto [at, fresh] = result.entries.emplace(key, entry);
    const Entry &other = at->second;
    if (!fresh && other.has_pmb && (!entry.has_pmb || entry.pmb_percent > other.pmb_percent))
      at->second = entry;
  }
  give_ranks(result);
  return result;
}

} // namespace smalloc::directives
