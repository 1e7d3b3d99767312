// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// history.h stores what is known of a program: the machines and inputs it ran on, what its runs
// took, its analyses, the current directives, and the results of each of these. Programs are
// identified by build-id, runs by host, process number and start. So storing the same thing twice
// changes nothing.
#pragma once

#include "runtime/database/connection.h"
#include "runtime/directives/directives_file.h"

#include <functional>
#include <optional>

namespace smalloc::database {

struct Program {
  std::string build_id, path;
  int64_t first_seen_ns = 0, last_seen_ns = 0;
  int64_t runs = 0, analyses = 0, directives = 0; ///< numbers stored for the program
};

struct Machine {
  std::string host, profile, cpu;
  int64_t processors = 0, memory_bytes = 0, last_seen_ns = 0;
};

/// Result of one directive in one run.
struct Validation {
  std::string site, context; ///< 16 hex digits; context may be empty
  bool taken = false;        ///< the agent gave it superpages
  int64_t superpages_predicted = 0, superpages_peak = 0, live_bytes_peak = 0;
  std::string verdict; ///< held, failed, or why it is neither
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
  /// Superpages touched in advance, and the seconds that this took; unknown if there were none.
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
  /// Predicted saving of one run by what directives reach, before runs have taught anything
  /// (realisation.h). Nothing: stored by a version before 3.
  std::optional<double> saved_seconds;
  /// TLB misses predicted for one run: all on base pages, and with what directives reach. Nothing:
  /// stored by a version before 5.
  std::optional<double> tlb_misses_base, tlb_misses_directed;
  /// Page faults likewise; and seconds of a superpage's first touch, by the machine profile.
  /// Nothing: stored by a version before 6.
  std::optional<double> page_faults_base, page_faults_directed, touch_seconds;
  bool significant = false;
  int64_t superpages_chosen = 0;
  std::vector<RankedCategory> ranking;
};

/// Returns the key as a directives file has it. site: 16 hex digits; context: as many, or none.
directives::Key key_of_directive(const std::string &site, const std::string &context);

class History {
public:
  explicit History(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}

  void store_machine(const Machine &machine);
  /// Stores a run. False: it was there already. Its validations count once for their directives.
  bool store_run(const Run &run);
  /// Stores all runs, or none. Returns for each what store_run would have returned.
  std::vector<bool> store_runs(const std::vector<Run> &runs);
  int64_t store_analysis(const Analysis &analysis);
  /// Replaces the program's directives. The results of earlier runs stay with a site while its page
  /// size stays the same.
  void store_directives(const std::string &program, const std::string &path,
                        const directives::File &file);

  std::vector<Program> programs();
  std::vector<Machine> machines();
  /// Returns runs with their validations, oldest first; program empty: of all programs.
  std::vector<Run> runs(const std::string &program);
  std::optional<Run> run(int64_t id);
  std::vector<Analysis> analyses(const std::string &program);
  /// Returns the program's directives as a file, ranked by what validation leaves of each; nothing:
  /// none are stored.
  std::optional<directives::File> directives(const std::string &program);
  /// Returns the build-ids that begin with `prefix`.
  std::vector<std::string> programs_like(const std::string &prefix);

  struct Removed {
    int64_t programs = 0, runs = 0, analyses = 0;
  };
  /// Removes runs and analyses before a time, and programs of which nothing is left. keep: number
  /// of each program's latest ones that stay, whatever their age. Removed runs that validated a
  /// directive are remembered as long as the program: merging does not bring them back, nor count
  /// them again.
  Removed prune(int64_t before_ns, int64_t keep);
  /// Adds everything of another history that is not here yet. The directives of the later analysis
  /// hold, with the results of all runs of both histories.
  void merge(History &other); // merge.cpp
  Connection &connection() { return *connection_; }

private:
  void see_program(const std::string &build_id, const std::string &path, int64_t at_ns);
  std::vector<Run> read_runs(const std::string &condition, const std::vector<Value> &parameters);
  /// Where a site's results come from: they are counted as runs are stored, or the file has them
  /// already.
  enum class Counts { kOfRuns, kOfFile };
  bool insert_run(const Run &run, Counts counts);
  /// Returns the runs that were pruned: only what identifies them.
  std::vector<Run> forgotten_runs();
  void insert_forgotten(const Run &run);
  int64_t insert_analysis(const Analysis &analysis);
  void insert_directives(const std::string &program, const directives::File &file, Counts counts);
  std::unique_ptr<Connection> connection_;
};

} // namespace smalloc::database
