// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// history_store.h opens the history: $XDG_STATE_HOME/smalloc/smalloc.db, by default below
// ~/.local/state; --db names another. Opening imports the runs that programs have reported since.
// Failures of the database become Failures of the command.
#pragma once

#include "runtime/database/history.h"
#include "runtime/database/realisation.h"
#include "runtime/database/run_comparison.h"
#include "runtime/errors/diagnostics.h"
#include "runtime/format/machine_json.h"
#include "runtime/profile/profile.h"

#include <functional>

namespace smalloc::cli {

// Returns the folder of smalloc's state. Throws Failure if neither XDG_STATE_HOME nor HOME is set.
std::string state_folder();
// Returns the place of the history. `location` empty: the default.
std::string database_location(const std::string &location);

// Opens the history for writing and imports the reported runs of this user's programs. If reading
// is enough and the history is read-only, opens it without importing. Throws Failure.
// Reports::kLeave imports nothing: for commands without --db, which must leave the reports to those
// with it.
enum class Reports { kTake, kLeave };
database::History open_history(const std::string &location, database::Access least,
                               Reports reports = Reports::kTake);

// Runs `work`; turns errors of the database into a Failure.
int with_history(const std::function<int()> &work);
Failure failure_of(const database::DatabaseError &error);

// Returns the program's directives after its `runs` so far, which are read from the history if they
// are not given; nothing if none are stored. Each line has its trust. The first line has the
// base-page runs of `input` (not given: of the latest run's input), and the inputs with which the
// program was slower.
std::optional<directives::File>
todays_directives(database::History &history, const std::string &program,
                  const std::vector<database::Run> &runs,
                  const std::optional<std::string> &input = std::nullopt);
std::optional<directives::File> todays_directives(database::History &history,
                                                  const std::string &program);

// Returns the latest other build of the program at this path that has directives, for example the
// recorded, instrumented one. Sites keep their ids between builds. Empty: none.
std::string earlier_build(database::History &history, const std::string &path,
                          const std::string &build_id);

// Returns programs with the same file name at other paths that have directives, latest first.
std::vector<database::Program> namesakes(database::History &history, const std::string &path);

// Returns the analyses of all builds of the program at `path`, also of the recorded, instrumented
// build. `path` empty: only of this build.
std::vector<database::Analysis> analyses_of_builds(database::History &history,
                                                   const std::string &build_id,
                                                   const std::string &path);

// Returns the share of the predicted saving that runs achieved on this host. It covers all builds
// of the program at `path`, predicted with machine profile `machine`; empty: that of the latest
// analysis.
database::Realisation realisation_of(database::History &history, const std::string &build_id,
                                     const std::string &path, const std::string &machine);

// Stores machine, analysis and directives of a profile; returns the directives file that is valid
// now. Precondition: the profile has a build-id. `saved_seconds`: of a run, by calibration alone.
directives::File remember_analysis(database::History &history, const Profile &profile,
                                   double saved_seconds, const format::MachineProfile &machine,
                                   const directives::File &file);
// Returns the input with which all traces were recorded, if `smalloc record` stored it (newer
// traces contain it). Empty: unknown, or several.
std::string recorded_input(database::History &history, const Profile &profile);

// Returns what libsmalloc's command_line_signature() is for this command, as 16 hex digits.
std::string input_of(const std::vector<std::string> &command);

// Returns the build-id for a file or the beginning of a build-id. Throws Failure if there is none,
// or several.
std::string program_meant(database::History &history, const std::string &name);

// Formats a time in UTC: "2026-11-21 19:41".
std::string readable_time(int64_t ns);
int64_t now_ns();
std::string host_name();

} // namespace smalloc::cli
