// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// directives_file.h reads and writes directives files (docs/reference.md), and compares and merges
// two of them. A file is sorted by site, and has the same bytes for the same content, so that it
// can be kept under version control.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smalloc::directives {

struct Entry {
  unsigned page_shift = 21;
  uint64_t rank = 0, superpages = 0;
  double pmb_percent = 0; ///< written with one decimal
  std::string numa;       ///< empty: none
  std::string comment;    ///< function file:line
  uint64_t held = 0,
           validated = 0; ///< validated: runs in which it was checked; held: those in which it did
                          ///< what it promised
  bool has_pmb = true;    ///< false: no PMB; the entry passes every threshold of PMB
  bool operator==(const Entry &) const = default;
};

/// Key of an entry: site and context. has_context false: all copies of the site.
struct Key {
  uint64_t site = 0;
  bool has_context = false;
  uint64_t context = 0;
  auto operator<=>(const Key &) const = default;
};

/// Returns what validation leaves of a directive's PMB; 0 if it is given up.
double trusted_pmb(const Entry &entry);
/// True if the directive is given up: checked in three runs or more, it held in less than half of
/// them.
bool is_given_up(const Entry &entry);

struct File {
  std::map<std::string, std::string> header; ///< program, machine, ...
  std::map<Key, Entry> entries;
  std::vector<size_t> bad_lines; ///< numbers of lines, from 1
};

/// Error in a file; what() is the reason in words.
class FormatError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Word of the first line for the inputs with which the program was slower
/// (smalloc/agent/directives.cpp reads it).
inline constexpr char kSlowerInputs[] = "slower_inputs";
/// Returns the number of inputs that the word names: 0 if the program was slower with none, or with
/// any.
size_t slower_input_count(const File &file);
/// True if the program was slower with `input` (16 hexadecimal digits).
bool was_slower_with(const File &file, const std::string &input);
/// Returns the page size that libsmalloc applies for the line, except with inputs that
/// kSlowerInputs names. It is base pages if the line is given up, or the program was slower with
/// any input.
unsigned decided_shift(const File &file, const Entry &entry);

/// Parses a file. Throws FormatError if it is no directives file at all; bad lines are only noted.
/// Of two lines for one key the first counts.
File parse(std::string_view text);
std::string print(const File &file);
std::string print_key(const Key &key);
const char *page_name(unsigned page_shift);

struct Difference {
  Key key;
  const Entry *before, *after; ///< nullptr: absent
};
/// Returns the differing lines in order: lines that only one file has, and lines applied for other
/// page sizes or with other inputs. Rank, benefit and comments may differ.
std::vector<Difference> compare(const File &before, const File &after);

/// Merges two files. Of one site the entry with the higher PMB counts. An entry without PMB comes
/// before that (it passes every threshold), and on equality the first file's counts. Ranks are
/// assigned anew by PMB. Header values that differ are left out, except kSlowerInputs, whose lists
/// are united.
File merge(const File &a, const File &b);

/// Gives ranks 1, 2, ... to all entries that are not "base" and not given up: by what is left of
/// the PMB, the highest first, then by superpages, the fewest first, then by key. The others get 0.
void give_ranks(File &file);

} // namespace smalloc::directives
