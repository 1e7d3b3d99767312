// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// history.h decides what is remembered of a program: which machines and inputs it ran on, what its runs took, what was
// analysed, which directives hold today, and how each of them did. Programs are told apart by build-id, runs by host, process
// number and start, so that storing the same thing twice changes nothing.
#pragma once

#include "runtime/database/connection.h"
#include "runtime/directives/directives_file.h"

#include <functional>
#include <optional>

namespace smalloc::database {

struct Program {
  std::string build_id, path;
  int64_t first_seen_ns = 0, last_seen_ns = 0;
  int64_t runs = 0, analyses = 0, directives = 0; ///< how many there are of it
};

struct Machine {
  std::string host, profile, cpu;
  int64_t processors = 0, memory_bytes = 0, last_seen_ns = 0;
};

/// Of one directive in one run.
struct Validation {
  std::string site, context; ///< 16 hex digits; context may be empty
  bool taken = false;        ///< the agent gave it superpages
  int64_t superpages_predicted = 0, superpages_peak = 0, live_bytes_peak = 0;
  std::string verdict; ///< held, failed, or why neither can be said
};

struct Run {
  int64_t id = 0;
  std::string program, path, host, machine;
  int64_t pid = 0, started_ns = 0;
  std::string kind;  ///< recorded: under smalloc record; base: no site on superpages; superpages
  std::string input; ///< 16 hex digits; empty: unknown
  std::optional<double> seconds, user_seconds, system_seconds;
  std::optional<int64_t> peak_bytes, minor_faults, major_faults;
  std::optional<int64_t> tlb_misses; ///< in user mode; unknown without a PMU
  /// Superpages that were touched in advance, and how long that took; unknown where none was.
  std::optional<int64_t> superpages_touched;
  std::optional<double> touch_seconds;
  std::string policy; ///< same-input, other-input, base; empty: no agent
  std::optional<double> bar_percent;
  std::optional<int64_t> superpages_supply, superpages_peak, superpages_at_first_touch, promotions,
      migrations, live_bytes_peak;
  std::vector<Validation> validations;
};

struct RankedCategory {
  int64_t rank = 0;
  std::string kind, category, function, file;
  int64_t line = 0, superpages = 0, footprint_bytes = 0;
  double saved_cycles = 0, saved_low = 0, saved_high = 0, pmb_percent = 0;
  bool chosen = false;
};

struct Analysis {
  int64_t id = 0;
  std::string program, path, machine, input;
  int64_t created_ns = 0, traces = 0;
  double accesses = 0, seconds = 0, cycles_base = 0, saved_all = 0, saved_joint = 0;
  /// Of a run, by what directives reach, before runs have taught anything (realisation.h). Nothing: a version before 3.
  std::optional<double> saved_seconds;
  /// Of a run: all on base pages, and with what directives reach. Nothing: a version before 5.
  std::optional<double> tlb_misses_base, tlb_misses_directed;
  /// As these; and the first touch of a superpage, by the machine profile. Nothing: a version before 6.
  std::optional<double> page_faults_base, page_faults_directed, touch_seconds;
  bool significant = false;
  int64_t superpages_chosen = 0;
  std::vector<RankedCategory> ranking;
};

/// As a directives file has it; site: 16 hex digits, context: as many, or none.
directives::Key key_of_directive(const std::string &site, const std::string &context);

class History {
public:
  explicit History(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}

  void store_machine(const Machine &machine);
  /// False: it was there already. Validations count for their directives once.
  bool store_run(const Run &run);
  /// All or none of them; what store_run would have said of each.
  std::vector<bool> store_runs(const std::vector<Run> &runs);
  int64_t store_analysis(const Analysis &analysis);
  /// Replaces the program's directives. What earlier runs said of a site stays with it while its page size does.
  void store_directives(const std::string &program, const std::string &path,
                        const directives::File &file);

  std::vector<Program> programs();
  std::vector<Machine> machines();
  /// Oldest first; program empty: of all. With their validations.
  std::vector<Run> runs(const std::string &program);
  std::optional<Run> run(int64_t id);
  std::vector<Analysis> analyses(const std::string &program);
  /// The program's directives as a file, ranks by what is left of each after validation; nothing: none are stored.
  std::optional<directives::File> directives(const std::string &program);
  /// The build-ids that begin so.
  std::vector<std::string> programs_like(const std::string &prefix);

  struct Removed {
    int64_t programs = 0, runs = 0, analyses = 0;
  };
  /// Forgets runs and analyses before a time, and programs of which nothing is left. keep: this many of each
  /// program's latest stay whatever their age. Runs that said something of a directive are known to have been there as long as
  /// the program is: merging does not bring them back, nor count them again.
  Removed prune(int64_t before_ns, int64_t keep);
  /// Everything of another history that is not here yet. Of directives those of the later analysis hold, with what all runs of both say
  /// of them.
  void merge(History &other); // merge.cpp
  Connection &connection() { return *connection_; }

private:
  void see_program(const std::string &build_id, const std::string &path, int64_t at_ns);
  std::vector<Run> read_runs(const std::string &condition, const std::vector<Value> &parameters);
  /// What runs say of a site is counted as they come, or the file says it already.
  enum class Counts { kOfRuns, kOfFile };
  bool insert_run(const Run &run, Counts counts);
  /// Of runs that were pruned: what identifies them, and nothing else.
  std::vector<Run> forgotten_runs();
  void insert_forgotten(const Run &run);
  int64_t insert_analysis(const Analysis &analysis);
  void insert_directives(const std::string &program, const directives::File &file, Counts counts);
  std::unique_ptr<Connection> connection_;
};

} // namespace smalloc::database
