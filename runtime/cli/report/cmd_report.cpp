// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cmd_report.cpp implements `smalloc report`. It accepts programs, whose site tables are read;
// traces, which are analysed together as by `smalloc analyze`; and documents that other verbs
// printed with --json.
#include "runtime/cli/analyze/analyze_report.h"
#include "runtime/cli/history/document_row.h"
#include "runtime/cli/input_file.h"
#include "runtime/cli/machine/profile_store.h"
#include "runtime/cli/output.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/report/report_sections.h"
#include "runtime/cli/sites/program_sites.h"
#include "runtime/cli/verbs.h"
#include "runtime/errors/diagnostics.h"
#include "runtime/profile/profile.h"
#include "runtime/study/command_line.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace smalloc::cli {
namespace {

struct ReportOptions {
  OutputOptions output;
  std::vector<std::string> inputs;
  std::string machine, title;
};

const char *const kWhat = "cannot report";
const char *const kWanted =
    "a trace, a program compiled with the plugin, or a JSON document of smalloc";

enum class Kind { kProgram, kDocument, kTrace };

Kind kind_of(const std::string &name) {
  // Read only the first bytes: white space aside, no file begins with a space.
  const auto bytes = read_file(name, kWhat, {" "}, kWanted);
  if (bytes.empty())
    throw Failure{kWhat, name, "it is empty", kWanted, kFailed};
  constexpr unsigned char kElf[] = {0x7f, 'E', 'L', 'F'};
  if (bytes.size() > 4 && std::equal(kElf, kElf + 4, bytes.begin()))
    return Kind::kProgram;
  const auto first =
      std::find_if(bytes.begin(), bytes.end(), [](unsigned char c) { return c > ' '; });
  return first != bytes.end() && *first == '{' ? Kind::kDocument : Kind::kTrace;
}

Document document_in(const std::string &name) {
  const auto bytes = read_file(name, kWhat, kTextInput, kWanted);
  // Limit the depth, since a copy of a document recurses into it.
  constexpr int kMostDeep = 200;
  bool deep = false;
  const std::string_view text = last_document(name, bytes);
  Document document = Document::parse(
      text.begin(), text.end(),
      [&](int depth, Document::parse_event_t, Document &) { return !(deep |= depth > kMostDeep); },
      false);
  if (deep)
    throw Failure{kWhat, name, "it is nested too deeply", kWanted, kFailed};
  if (!document.is_object())
    throw Failure{kWhat, name, "it is no whole JSON document", kWanted, kFailed};
  if (!text_field(document, "schema").starts_with("smalloc."))
    throw Failure{kWhat, name, "it is no document of smalloc", kWanted, kFailed};
  return document;
}

Document analysis_of(const std::vector<std::string> &traces, const ReportOptions &options) {
  ProfileOptions wanted;
  wanted.traces = traces;
  const format::MachineProfile machine = load_profile_for_traces(options.machine);
  const benefit::CostModel costs(machine);
  Progress progress("analyzing", options.output.quiet);
  const Profile profile = analyse(
      wanted, costs, [&](double fraction, const char *what) { progress.show(fraction, what); });
  progress.clear();
  Expectation expected;
  expected.by_calibration = saved_by_calibration(profile, costs);
  return analyze_document({"", "share", false}, wanted, profile, expected, machine);
}

std::vector<ReportInput> read_inputs(const ReportOptions &options) {
  std::vector<ReportInput> inputs;
  std::vector<std::string> traces;
  size_t place = 0; // place of the first trace, where the section of all traces goes
  for (const std::string &name : options.inputs)
    switch (kind_of(name)) {
    case Kind::kProgram:
      inputs.push_back({name, sites_of_program(name)});
      break;
    case Kind::kDocument:
      inputs.push_back({name, document_in(name)});
      break;
    case Kind::kTrace:
      if (traces.empty())
        place = inputs.size();
      traces.push_back(name);
    }
  if (!traces.empty())
    inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(place),
                  {traces.front(), analysis_of(traces, options)});
  return inputs;
}

// Returns the program's name if all documents have the same.
std::string title_of(const ReportOptions &options, const std::vector<ReportInput> &inputs) {
  if (!options.title.empty())
    return options.title;
  std::string name;
  for (const ReportInput &input : inputs) {
    std::string path = text_field(field(input.document, "binary"), "path");
    if (path.empty())
      path = text_field(input.document,
                        text_field(input.document, "path").empty() ? "program" : "path");
    const std::string file = std::filesystem::path(path).filename().string();
    if (!name.empty() && !file.empty() && file != name)
      return "smalloc report";
    if (!file.empty())
      name = file;
  }
  return name.empty() ? "smalloc report" : name + ": smalloc report";
}

int run_report(const ReportOptions &options) {
  if (options.output.file.empty() && !options.output.json) {
    std::string again = "smalloc report";
    for (const std::string &name : options.inputs)
      again += " " + study::shell_word(name);
    throw Failure{"cannot write the report", options.inputs.front(),
                  "it is one HTML page: name the file", again + " -o report.html", kUsage};
  }
  const auto thresholds = parse_thresholds(options.output);
  const std::vector<ReportInput> inputs = read_inputs(options);
  Document documents = Document::array();
  for (const ReportInput &input : inputs)
    documents.push_back(input.document);
  const Document document{{"schema", "smalloc.report/1"}, {"documents", documents}};
  const int status = finish(options.output, thresholds, document, [&](Colour) {
    std::vector<HtmlSection> sections;
    if (HtmlSection joined = site_by_site(inputs); !joined.body.empty())
      sections.push_back(std::move(joined));
    for (const ReportInput &input : inputs)
      sections.push_back(section_of(input));
    return html_page(title_of(options, inputs), sections);
  });
  if (!options.output.json)
    print_note("open " + expand_file_name(options.output.file) +
               " in a browser: no server, no network");
  return status;
}

std::function<int()> declare_report(CLI::App &app) {
  auto options = std::make_shared<ReportOptions>();
  app.add_option(
         "FILE", options->inputs,
         "Traces, programs compiled with the plugin, documents that verbs print with --json")
      ->required()
      ->type_name("");
  app.add_option(
         "--machine", options->machine,
         "Of traces: preset, stored, or a profile's file; without it, this machine's preset")
      ->type_name("NAME|FILE");
  app.add_option("--title", options->title, "The page's title")->type_name("TEXT");
  add_output_options(app, options->output);
  return [options] { return run_report(*options); };
}

} // namespace

const Verb kReportVerb = {
    "report",
    "one HTML page of what compiler, profile and runs say",
    "Puts what is known of a program onto one page that needs neither server nor network: its "
    "sites as "
    "the compiler decided, what superpages would save by a trace, what runs got. Sites that "
    "several "
    "sources name stand beside each other.",
    {{"smalloc report ./app app.trace -o app.html",
      "each site: the decision, the reason, and what it is worth"},
     {"smalloc report ./app app.trace stats.json -o app.html",
      "and what a run got (SMALLOC_CONF=stats:json,stats_file:stats.json ./app)"}},
    declare_report};

} // namespace smalloc::cli
