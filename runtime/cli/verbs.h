// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// verbs.h defines a verb: a name, a summary, two worked examples for --help and the man page, its
// options, and its function. Only verbs.cpp has the list of verbs.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace smalloc::cli {

struct Example {
  const char *command;
  const char *effect;
};

// A part of a verb (`smalloc numa record`) with its own examples.
struct Part {
  const char *name;
  Example examples[2];
  bool runs_a_command = false; // the command follows "--"
};

struct Verb {
  const char *name;
  const char *summary;
  // Two or three sentences for --help and the man page
  const char *description;
  Example examples[2];
  // Declares the options on `app`. The returned function runs the verb after parsing and returns
  // the exit status.
  std::function<int()> (*declare)(CLI::App &app);
  std::span<const Part> parts = {};
};

extern const Verb kSitesVerb, kDoctorVerb, kRunVerb, kStatsVerb, kMachineVerb;
extern const Verb kRecordVerb, kTraceVerb, kAnalyzeVerb, kDirectivesVerb;
extern const Verb kApplyVerb, kDbVerb, kDiffVerb, kReportVerb;
extern const Verb kNumaVerb;
extern const Verb kCalibrateVerb, kStreamVerb, kStudyVerb, kTryVerb;

// Stores the words from the first "--" on (included) of `smalloc run`, `record`, `apply`, `study`,
// `try` and `numa`.
void set_command_to_run(std::vector<std::string> arguments);
const std::vector<std::string> &command_behind_dashes();

// Returns the verbs in the order of the help text.
std::span<const Verb *const> all_verbs();

} // namespace smalloc::cli
