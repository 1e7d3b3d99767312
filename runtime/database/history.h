// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// history.h stores what is known of a program: the machines and inputs it ran on, what its runs
// took, its analyses, the current directives, and the results of each of these. Programs are
// identified by build-id, runs by host, process number and start. So a run that is stored twice
// counts once. Each call of store_analysis() adds an analysis.
#pragma once

#include "runtime/database/connection.h"
#include "runtime/database/records.h"
#include "runtime/directives/directives_file.h"

#include <optional>

namespace smalloc::database {

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
  /// size stays the same, unless `file` has results for the site.
  void store_directives(const std::string &program, const std::string &path,
                        const directives::File &file);

  // Queries, defined in history_queries.cpp.
  /// Returns all programs with the numbers of what is stored for them, latest use first.
  std::vector<Program> programs();
  std::vector<Machine> machines();
  /// Returns runs with their validations, oldest first; program empty: of all programs.
  std::vector<Run> runs(const std::string &program);
  std::optional<Run> run(int64_t id);
  std::vector<Analysis> analyses(const std::string &program);
  /// Returns the program's directives as a file, ranked by what validation leaves of each; nothing:
  /// none are stored.
  std::optional<directives::File> directives(const std::string &program);
  // Queries that count nothing, so that their cost depends on what they return.
  /// Returns the build-ids that begin with `prefix`, latest use first.
  std::vector<std::string> programs_like(const std::string &prefix);
  /// Returns the build-ids that were last seen at `path`, latest use first.
  std::vector<std::string> builds_at(const std::string &path);
  /// Returns where the program was last seen; empty: unknown.
  std::string path_of(const std::string &program);
  bool has_directives(const std::string &program);

  struct Removed {
    int64_t programs = 0, runs = 0, analyses = 0;
  };
  /// Removes runs and analyses before a time, and programs of which nothing is left. keep: number
  /// of each program's latest ones that stay, whatever their age. Removed runs that validated a
  /// directive are remembered as long as the program: merging does not bring them back, nor count
  /// them again.
  Removed prune(int64_t before_ns, int64_t keep);
  /// Adds everything of another history that is not here yet. The directives of the later analysis
  /// hold; the other history's complete them for sites that they lack. To the results of each
  /// directive are added those of the other history's runs, except pruned ones.
  void merge(History &other); // merge.cpp
  Connection &connection() { return *connection_; }

private:
  void see_program(const std::string &build_id, const std::string &path, int64_t at_ns);
  /// Precondition: each program is there once.
  void see_programs(const std::vector<Program> &programs);
  std::vector<Run> read_runs(const std::string &condition, const std::vector<Value> &parameters);
  /// Where a site's results come from: they are counted as runs are stored, or the file has them
  /// already.
  enum class Counts { kOfRuns, kOfFile };
  /// Returns for each run whether it was not there.
  std::vector<bool> insert_runs(const std::vector<Run> &runs, Counts counts);
  /// Returns the runs that were pruned: only what identifies them.
  std::vector<Run> forgotten_runs();
  void insert_forgotten(const Run &run);
  int64_t insert_analysis(const Analysis &analysis);
  void insert_directives(const std::string &program, const directives::File &file, Counts counts);
  std::unique_ptr<Connection> connection_;
};

} // namespace smalloc::database
