// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// directives_file.h decides the one form in which a directives file is written (docs/directives.md): sorted by site,
// the same bytes for the same content, so that it can be kept under version control; and how two are compared and merged.
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
  std::string numa;       ///< empty: nothing said
  std::string comment;    ///< function file:line
  uint64_t held = 0,
           validated = 0; ///< in how many of the runs that it was looked at it did what it promised
  bool has_pmb = true;    ///< false: it means what it says, whatever else wants superpages
  bool operator==(const Entry &) const = default;
};

/// Site and context; has_context false: all copies of the site.
struct Key {
  uint64_t site = 0;
  bool has_context = false;
  uint64_t context = 0;
  auto operator<=>(const Key &) const = default;
};

/// What is left of a directive's PMB after validation; 0 when it is given up.
double trusted_pmb(const Entry &entry);
/// Given up: looked at in three runs or more, and it held in less than half of them.
bool is_given_up(const Entry &entry);

struct File {
  std::map<std::string, std::string> header; ///< program, machine, ...
  std::map<Key, Entry> entries;
  std::vector<size_t> bad_lines; ///< their numbers, from 1
};

/// what() is the reason in words.
class FormatError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The first line's word for the inputs with which the program was slower (smalloc/agent/directives.cpp reads it).
inline constexpr char kSlowerInputs[] = "slower_inputs";
/// How many it names: 0 where it was slower with none, or with any.
size_t slower_input_count(const File &file);
/// input: 16 hexadecimal digits.
bool was_slower_with(const File &file, const std::string &input);
/// The page size that libsmalloc takes the line for, but for inputs that kSlowerInputs names: base pages where it is given up, or the
/// program was slower with any input.
unsigned decided_shift(const File &file, const Entry &entry);

/// Throws FormatError when it is no directives file at all; bad lines are only noted. Of two lines for one key the first counts.
File parse(std::string_view text);
std::string print(const File &file);
std::string print_key(const Key &key);
const char *page_name(unsigned page_shift);

struct Difference {
  Key key;
  const Entry *before, *after; ///< nullptr: not there
};
/// Lines that one has and the other has not, that are taken for other page sizes, or for superpages with other inputs, in order; rank,
/// benefit and comments may differ.
std::vector<Difference> compare(const File &before, const File &after);

/// Of the same site the entry with the higher PMB counts, before that one without (it passes every bar), and on equality the first
/// file's; ranks are given anew by PMB.
/// Header values that differ are left out.
File merge(const File &a, const File &b);

/// Gives ranks 1, 2, ... to all entries that are not "base" and not given up: by what is left of the PMB, then superpages,
/// then key.
void give_ranks(File &file);

} // namespace smalloc::directives
