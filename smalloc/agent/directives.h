// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// directives.h decides what SMALLOC_CONF=directives:FILE does at the start of a program: the file is read once, line by line,
// into a table of our own, and each image's sites are looked up when the image registers. A directive overrules the
// compiler. A line that makes no sense is passed over, a file that cannot be read costs one warning; neither ever
// stops the program.
#ifndef SMALLOC_AGENT_DIRECTIVES_H
#define SMALLOC_AGENT_DIRECTIVES_H

#include "smalloc/agent/directive_line.h"
#include "smalloc/agent/policy.h"
#include "smalloc/include/smalloc/directive.h"

namespace smalloc {

/// The words of the first line that the agent goes by; 0: not said. A build-id that is longer than any is not kept.
struct DirectivesHeader {
  char program[130] = "";
  bool has_input = false;
  bool slower = false;              ///< verdict=slower: than on base pages
  bool names_slower_inputs = false; ///< slower_inputs=; else it was slower with any
  bool slower_unknown = false;      ///< one of them is of runs whose input nobody knew
  unsigned slower_input_count = 0;
  uint64_t slower_inputs[SMALLOC_DIRECTIVE_SLOWER_INPUTS] = {};
  uint64_t input = 0;                      ///< base/input_signature.h
  uint64_t milliseconds = 0;               ///< of the profiled run
  uint64_t faults_saved = 0, saved_ms = 0; ///< predicted, of the chosen set
  uint64_t base_runs = 0, base_ms = 0, base_most_ms = 0,
           base_faults = 0; ///< the history on base pages
  bool has_base_input = false;
  uint64_t base_input = 0; ///< and with what

  bool was_slower_with(bool input_known, uint64_t own) const;
  void take_slower_inputs(Text list);
};

class Directives {
public:
  struct Entry {
    uint64_t site, context;
    uint32_t pmb_thousandths, superpages;
    uint32_t number; ///< of several for one key the first counts, as for all who read the file
    uint8_t has_context, page_shift;
    bool insists; ///< no PMB
    DirectiveOutcome decision;
    bool before(const Entry &other) const {
      return site != other.site                 ? site < other.site
             : has_context != other.has_context ? has_context < other.has_context
             : context != other.context         ? context < other.context
                                                : number < other.number;
    }
  };

  /// Regular files of at most kMostBytes. Returns nullptr, or why nothing was read. O(n) for a sorted file, as the command
  /// writes them, O(n log n) else.
  /// placed: gets each line that says where objects are to lie (numa=), and how many there may be at most. nullptr: nobody.
  const char *load(const char *path, void (*placed)(const Directive &d, size_t most) = nullptr);
  /// The page size for a site, as a shift; 0: nothing said. A line for this context goes before one for all.
  unsigned page_shift(uint64_t site, uint64_t context) const;
  /// The line for a site; nullptr: there is none.
  Entry *find(uint64_t site, uint64_t context) const;
  Entry *entries() const { return entries_; }
  const DirectivesHeader &header() const { return header_; }
  /// The history on base pages is another input's.
  void forget_base_history() { header_.base_runs = 0; }
  bool any() const { return count_ != 0; }
  size_t count() const { return count_; }
  size_t bad_lines() const { return bad_; }

  static constexpr size_t kMostBytes = size_t{16} << 20;

private:
  void parse_header(Text line);
  bool reserve(size_t most);
  void take(const Directive &d);

  DirectivesHeader header_;
  Entry *entries_ = nullptr;
  size_t count_ = 0, most_ = 0, bad_ = 0;
  bool sorted_ = true;
};

/// Of this process.
extern Directives g_directives;

} // namespace smalloc
#endif
