// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// verbs.h decides what a verb is to the command: a name, a summary, two worked examples that open
// its --help and its part of the man page, its options, and what it does. Nothing else knows the
// list (verbs.cpp).
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

// A part of a verb (`smalloc numa record`) with examples of its own, instead of the verb's.
struct Part {
  const char *name;
  Example examples[2];
  bool runs_a_command = false; // which stands behind "--"
};

struct Verb {
  const char *name;
  const char *summary;
  // Two or three sentences for --help and the man page.
  const char *description;
  Example examples[2];
  // Declares the options on `app`; the result runs the verb once they are parsed and returns the
  // exit status.
  std::function<int()> (*declare)(CLI::App &app);
  std::span<const Part> parts = {};
};

extern const Verb kSitesVerb, kDoctorVerb, kRunVerb, kStatsVerb, kMachineVerb;
extern const Verb kRecordVerb, kTraceVerb, kAnalyzeVerb, kDirectivesVerb;
extern const Verb kApplyVerb, kDbVerb, kDiffVerb, kReportVerb;
extern const Verb kNumaVerb;
extern const Verb kCalibrateVerb, kStreamVerb, kStudyVerb;

// What stood behind the first "--" of `smalloc run`, `record`, `apply` and `study`, that "--" included.
void set_command_to_run(std::vector<std::string> arguments);
const std::vector<std::string> &command_behind_dashes();

// In the order of the help text.
std::span<const Verb *const> all_verbs();

} // namespace smalloc::cli
