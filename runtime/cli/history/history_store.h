// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// history_store.h decides where the history is ($XDG_STATE_HOME/smalloc/smalloc.db, by default below ~/.local/state; --db
// names another), that opening it takes in what programs have reported since, and how its failures are told.
#pragma once

#include "runtime/database/history.h"
#include "runtime/database/realisation.h"
#include "runtime/database/run_comparison.h"
#include "runtime/errors/diagnostics.h"
#include "runtime/format/machine_json.h"
#include "runtime/profile/profile.h"

#include <functional>

namespace smalloc::cli {

// Throws Failure when neither XDG_STATE_HOME nor HOME is set.
std::string state_folder();
// location empty: the default.
std::string database_location(const std::string &location);

// Opens it for writing and imports the runs that programs of this user have reported; a history that may only be read is
// opened as it is, if reading is enough. Throws Failure.
// Who cannot be told of another history leaves the reports to those who can.
enum class Reports { kTake, kLeave };
database::History open_history(const std::string &location, database::Access least,
                               Reports reports = Reports::kTake);

// Runs `work`; what the database says against it becomes a Failure.
int with_history(const std::function<int()> &work);
Failure failure_of(const database::DatabaseError &error);

// The program's directives as its runs have left them: trust in each line, and in the first line the base-page
// history (of this input; not given: of the latest run's) and the inputs with which it was slower. Nothing: none are stored.
std::optional<directives::File>
todays_directives(database::History &history, const std::string &program,
                  const std::optional<std::string> &input = std::nullopt);

// The latest other build of the program at this path that has directives, such as the instrumented one that was recorded: sites
// keep their ids. Empty: there is none.
std::string earlier_build(database::History &history, const std::string &path,
                          const std::string &build_id);

// Programs of the same file name at other paths that have directives: the latest first.
std::vector<database::Program> namesakes(database::History &history, const std::string &path);

// Of all of a program's builds at its path, the instrumented one that was recorded among them. path empty: of this build.
std::vector<database::Analysis> analyses_of_builds(database::History &history,
                                                   const std::string &build_id,
                                                   const std::string &path);

// What runs on this host of a program's builds at its path have saved of what was predicted with this machine profile; empty: that
// of the latest analysis.
database::Realisation realisation_of(database::History &history, const std::string &build_id,
                                     const std::string &path, const std::string &machine);

// Stores machine, analysis and directives of a profile, and returns the file that holds from now on. The profile has to
// have a build-id. saved_seconds: of a run, by calibration alone.
directives::File remember_analysis(database::History &history, const Profile &profile,
                                   double saved_seconds, const format::MachineProfile &machine,
                                   const directives::File &file);
// The input with which all of the traces were recorded, as far as `smalloc record` has noted it (newer traces say it themselves);
// empty: unknown, or several.
std::string recorded_input(database::History &history, const Profile &profile);

// FNV-1a over a command's arguments without its name, as smalloc/base/input_signature.h has it; 16 hex digits.
std::string input_of(const std::vector<std::string> &command);

// The build-id that is meant: a file, or the beginning of a build-id. Throws Failure when there is none, or several.
std::string program_meant(database::History &history, const std::string &name);

// "2026-11-21 19:41", UTC.
std::string readable_time(int64_t ns);
int64_t now_ns();
std::string host_name();

} // namespace smalloc::cli
