// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cmd_doctor.cpp prints the checks: a line each with the command that cures it, or a JSON document.
// With --fix it prints a shell script of the cures. It changes nothing itself. A finding is no
// failure.
#include "runtime/cli/doctor/doctor.h"
#include "runtime/cli/output.h"
#include "runtime/cli/verbs.h"
#include "runtime/errors/diagnostics.h"

#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace smalloc::cli {
namespace {

using Json = nlohmann::ordered_json;

struct DoctorOptions {
  OutputOptions output;
  std::string program, root;
  bool fix = false;
};

const char *verdict_text(Verdict verdict) {
  switch (verdict) {
  case Verdict::kOk:
    return "ok";
  case Verdict::kWarn:
    return "warn";
  case Verdict::kFail:
    break;
  }
  return "fail";
}

Style verdict_style(Verdict verdict) {
  return verdict == Verdict::kOk     ? Style::kGood
         : verdict == Verdict::kWarn ? Style::kWarn
                                     : Style::kBad;
}

Json document_of(const Checks &checks) {
  Json list = Json::array();
  uint64_t counts[3] = {0, 0, 0};
  for (const Check &check : checks) {
    counts[static_cast<int>(check.verdict)]++;
    list.push_back(Json{{"name", check.name},
                        {"status", verdict_text(check.verdict)},
                        {"value", check.value},
                        {"message", check.message},
                        {"fix", check.fix.empty() ? Json() : Json(check.fix)}});
  }
  return Json{{"schema", "smalloc.doctor/1"},
              {"version", SMALLOC_VERSION},
              {"checks", list},
              {"totals", Json{{"checks", checks.size()},
                              {"ok", counts[0]},
                              {"warn", counts[1]},
                              {"fail", counts[2]}}}};
}

std::string lines_of(const Checks &checks, const Json &document, Colour colour) {
  std::string text;
  for (const Check &check : checks) {
    const std::string verdict = verdict_text(check.verdict);
    text += styled(verdict, verdict_style(check.verdict), colour) +
            std::string(6 - verdict.size(), ' ') + printable(check.message) + "\n";
    if (!check.fix.empty())
      text += "      fix: " + printable(check.fix) + "\n";
  }
  const Json &totals = document["totals"];
  return text + fmt::format("\n{} ok, {} warnings, {} failures\n", totals["ok"].dump(),
                            totals["warn"].dump(), totals["fail"].dump());
}

std::string script_of(const Checks &checks) {
  std::string text =
      "#!/bin/sh\n# What `smalloc doctor` would change; read it, then run it as root.\nset -ex\n";
  for (const Check &check : checks)
    if (!check.fix.empty()) {
      // The script runs only cures that set up the system. A cure for a build or a program is a
      // comment.
      const bool system_wide = check.fix.starts_with("echo ") || check.fix.starts_with("sysctl ") ||
                               check.fix.starts_with("apt-get ");
      text +=
          fmt::format("\n# {}: {}\n{}{}\n", verdict_text(check.verdict), printable(check.message),
                      system_wide ? "" : "# by hand: ", printable(check.fix));
    }
  return text;
}

int run_doctor(const DoctorOptions &options) {
  const auto thresholds = parse_thresholds(options.output);
  const SystemView system(options.root);
  Checks checks;
  // Check the program first, so that an unreadable file fails without the wait for all other
  // checks.
  Checks program;
  if (!options.program.empty())
    check_program(options.program, program);
  check_host(system, checks);
  check_pages(system, checks);
  check_features(system, checks);
  check_first_touch(system, checks);
  check_limits(system, checks);
  check_machine(system, checks);
  check_nodes(system, checks);
  check_tools(checks);
  checks.insert(checks.end(), program.begin(), program.end());
  const Json document = document_of(checks);
  return finish(options.output, thresholds, document, [&](Colour colour) {
    return options.fix ? script_of(checks) : lines_of(checks, document, colour);
  });
}

std::function<int()> declare_doctor(CLI::App &app) {
  auto options = std::make_shared<DoctorOptions>();
  app.add_option("PROGRAM", options->program, "Also say what keeps superpages from this program")
      ->type_name("");
  auto *fix =
      app.add_flag("--fix", options->fix, "Print the cures as a shell script; nothing is changed");
  add_output_options(app, options->output);
  fix->excludes(app.get_option("--json"));
  app.add_option("--root", options->root, "Read /sys and /proc below this folder")->group("");
  return [options] { return run_doctor(*options); };
}

} // namespace

const Verb kDoctorVerb = {"doctor",
                          "what this system can do, and the command that cures what it cannot",
                          "Looks at the kernel's page sizes, pools and limits, at compilers and "
                          "libraries, tries what can be tried without harm, and "
                          "prints one line each: ok, warn or fail. The exit status is 0 whatever "
                          "it finds, unless --fail-if says otherwise.",
                          {{"smalloc doctor", "everything, with the command that cures it"},
                           {"smalloc doctor ./app --fail-if 'totals.fail > 0'",
                            "also look at ./app; exit 3 when superpages cannot work"}},
                          declare_doctor};

} // namespace smalloc::cli
