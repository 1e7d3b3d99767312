// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// output.cpp writes results and chooses whether to colour them.
#include "runtime/cli/output.h"

#include "runtime/cli/written_file.h"
#include "runtime/errors/diagnostics.h"
#include "smalloc/base/file_name.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace smalloc::cli {

void write_text(const std::string &file, const std::string &text, const std::string &option) {
  if (!file.empty())
    return write_file(expand_file_name(file), text, option);
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (std::fflush(stdout) == 0 && written)
    return;
  const int error = errno;
  throw Failure{"cannot write the result", "standard output", error_text(error),
                is_no_room(error) ? room_hint(error, "-o FILE") : std::string(), kFailed};
}

void add_output_options(CLI::App &app, OutputOptions &options) {
  add_document_options(app, options);
  app.add_option("-o,--output", options.file, "Write to FILE (%p process, %h host, %r MPI rank)")
      ->type_name("FILE");
}

void add_document_options(CLI::App &app, OutputOptions &options) {
  app.add_flag("--json", options.json, "Print JSON instead of text");
  app.add_option("--fail-if", options.fail_if,
                 "Exit 3 when a number of the JSON crosses a threshold")
      ->type_name("'KEY OP VALUE'")
      ->allow_extra_args(false);
  app.add_option("--color", options.color, "auto, always or never (NO_COLOR is obeyed)")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "always", "never"}).description(""));
  app.add_flag("-q,--quiet", options.quiet, "No notes on standard error");
}

Colour choose_colour(const OutputOptions &options) {
  if (options.color != "auto")
    return options.color == "always" ? Colour::kOn : Colour::kOff;
  const char *no_color = std::getenv("NO_COLOR"), *term = std::getenv("TERM");
  if ((no_color && *no_color) || (term && std::strcmp(term, "dumb") == 0) || !options.file.empty())
    return Colour::kOff;
  return isatty(STDOUT_FILENO) ? Colour::kOn : Colour::kOff;
}

std::vector<FailIf> parse_thresholds(const OutputOptions &options) {
  set_quiet(options.quiet);
  std::vector<FailIf> thresholds;
  for (const std::string &text : options.fail_if)
    thresholds.push_back(parse_fail_if(text));
  return thresholds;
}

nlohmann::ordered_json text_or_null(const std::string &text) {
  return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}

std::string json_text(const nlohmann::ordered_json &document) {
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

int finish(const OutputOptions &options, const std::vector<FailIf> &thresholds,
           const nlohmann::ordered_json &document, const std::function<std::string(Colour)> &text) {
  std::vector<Failure> crossed; // a missing key must throw before anything is printed
  for (const FailIf &threshold : thresholds) {
    std::string found;
    if (crosses(threshold, document, found))
      crossed.push_back({"threshold crossed", threshold.text, found, {}, kThresholdCrossed});
  }
  write_text(options.file, options.json ? json_text(document) : text(choose_colour(options)));
  for (const Failure &failure : crossed)
    print_failure(failure);
  return crossed.empty() ? kDone : kThresholdCrossed;
}

std::string expand_file_name(const std::string &name, const std::string &process) {
  std::string expanded(name.size() + 256, '\0');
  while (!smalloc::expand_file_name(name.c_str(), expanded.data(), expanded.size(),
                                    process.empty() ? nullptr : process.c_str()))
    expanded.resize(2 * expanded.size());
  return expanded.c_str();
}

std::string as_file_name_of_conf(const std::string &name) {
  std::string result;
  for (const char c : name)
    result += c == '%' ? "%%" : std::string(1, c);
  return result;
}

} // namespace smalloc::cli
