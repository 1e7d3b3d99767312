// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// directives.h reads the file of SMALLOC_CONF=directives:FILE at the start of a program, once and
// line by line, into a table of libsmalloc. When an image registers, its sites are looked up in the
// table. A directive overrules the compiler. A malformed line is skipped, and an unreadable file
// costs one warning; neither ever stops the program.
#ifndef SMALLOC_AGENT_DIRECTIVES_H
#define SMALLOC_AGENT_DIRECTIVES_H

#include "smalloc/agent/directive_line.h"
#include "smalloc/agent/policy.h"
#include "smalloc/include/smalloc/directive.h"

namespace smalloc {

/// Fields of the first line that the agent uses; 0: absent. A build-id that is too long is dropped.
struct DirectivesHeader {
  char program[130] = "";
  bool has_input = false;
  bool slower = false;              ///< verdict=slower: slower than on base pages
  bool names_slower_inputs = false; ///< slower_inputs=; otherwise it was slower with any input
  bool slower_unknown = false;      ///< one of them stands for runs with an unknown input
  unsigned slower_input_count = 0;
  uint64_t slower_inputs[SMALLOC_DIRECTIVE_SLOWER_INPUTS] = {};
  uint64_t input = 0;                      ///< command_line_signature()
  uint64_t milliseconds = 0;               ///< of the profiled run
  uint64_t faults_saved = 0, saved_ms = 0; ///< predicted, for the chosen set
  /// History of runs on base pages.
  uint64_t base_runs = 0, base_ms = 0, base_most_ms = 0, base_faults = 0;
  bool has_base_input = false;
  uint64_t base_input = 0; ///< the input of the base-page runs

  bool was_slower_with(bool input_known, uint64_t own) const;
  void take_slower_inputs(Text list);
};

class Directives {
public:
  struct Entry {
    uint64_t site, context;
    uint32_t pmb_thousandths, superpages;
    uint32_t number; ///< of the line. Of several lines for one site and context the first counts
    uint8_t has_context, page_shift;
    bool insists; ///< without a PMB
    DirectiveOutcome decision;
    bool before(const Entry &other) const {
      return site != other.site                 ? site < other.site
             : has_context != other.has_context ? has_context < other.has_context
             : context != other.context         ? context < other.context
                                                : number < other.number;
    }
  };

  /// Reads a regular file of at most kMostBytes. Returns nullptr, or why nothing was read. O(n) for
  /// a sorted file, which the command writes, else O(n log n). Calls `placed` for each line that
  /// places objects (numa=), with the greatest possible number of these lines; nullptr: no call.
  const char *load(const char *path, void (*placed)(const Directive &d, size_t most) = nullptr);
  /// Returns the page size for a site, as a shift; 0: no line. A line for this context precedes a
  /// line for all contexts.
  unsigned page_shift(uint64_t site, uint64_t context) const;
  /// Returns the line for a site, or nullptr.
  Entry *find(uint64_t site, uint64_t context) const;
  Entry *entries() const { return entries_; }
  const DirectivesHeader &header() const { return header_; }
  /// Drops the history on base pages, because it belongs to another input.
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

/// The directives of this process.
extern Directives g_directives;

} // namespace smalloc
#endif
