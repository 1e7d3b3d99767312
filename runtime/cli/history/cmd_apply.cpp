// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cmd_apply.cpp implements `smalloc apply`, which gives directives to a program without recompiling
// it. They come from a file, or from the history of this build-id; these are written beside the
// history, where a running program can read them. The run reports its time (validate:on). With
// --base it runs on base pages, for comparison with later runs.
#include "runtime/cli/history/history_store.h"
#include "runtime/cli/history/measured_report.h"
#include "runtime/cli/installation.h"
#include "runtime/cli/output.h"
#include "runtime/cli/process/launch.h"
#include "runtime/cli/verbs.h"
#include "runtime/errors/diagnostics.h"
#include "runtime/study/command_line.h"

#include <filesystem>
#include <fstream>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

namespace smalloc::cli {
namespace {

namespace fs = std::filesystem;

struct ApplyOptions {
  std::string database, directives, budget, pages, input, conf;
  bool base = false, stats = false, dry_run = false, quiet = false;
  CLI::App *app = nullptr;
};

// Writes the directives beside the history, for the owner only. Replaces the file by a rename,
// since programs may be reading it.
std::string write_todays(const directives::File &file, const std::string &program) {
  const std::string folder = state_folder() + "/directives";
  const mode_t mask = umask(077);
  std::error_code error;
  fs::create_directories(folder, error);
  const std::string path = folder + "/" + program + ".directives";
  const std::string fresh = fmt::format("{}.{}", path, getpid());
  std::ofstream out(fresh);
  out << directives::print(file);
  out.close();
  umask(mask);
  if (error || !out || rename(fresh.c_str(), path.c_str()) != 0) {
    unlink(fresh.c_str());
    throw Failure{"cannot write the directives", path, error ? error.message() : error_text(errno),
                  "smalloc db export -o FILE, then smalloc apply --directives FILE", kRunFailed};
  }
  return path;
}

// Returns the failure that says what was searched and which similar programs have directives.
Failure no_directives(database::History &history, const ApplyOptions &options,
                      const std::string &program, const std::string &build_id) {
  std::error_code error;
  const std::string path = fs::canonical(program, error).string();
  std::string why =
      fmt::format("the history ({}) has none for build-id {}, nor for an earlier build at {}",
                  database_location(options.database), build_id, path);
  const auto others = namesakes(history, program);
  if (others.empty())
    return {"cannot find directives", program, why,
            "smalloc record -- " + study::shell_word(program) + ", then smalloc analyze TRACE",
            kRunFailed};
  const std::string export_to =
      fmt::format("smalloc db export {}{} -o FILE", others.front().build_id,
                  options.database.empty() ? "" : " --db " + study::shell_word(options.database));
  return {"cannot find directives", program,
          why + fmt::format("; it has some for {} (build-id {})", others.front().path,
                            others.front().build_id),
          "if that is the same program: " + export_to +
              ", then smalloc apply --directives FILE -- " + study::shell_word(program),
          kRunFailed};
}

std::string directives_for(const ApplyOptions &options, const std::string &program,
                           const Target &target, const std::vector<std::string> &command) {
  if (!options.directives.empty())
    return fs::absolute(options.directives).string();
  if (target.build_id.empty())
    throw Failure{"cannot find directives", program, "it has no build-id to look for",
                  "link it with -Wl,--build-id, or name a file: smalloc apply --directives FILE",
                  kRunFailed};
  const std::string input =
      options.input.empty() ? input_of(command) : input_of({"", options.input});
  try {
    auto history = open_history(options.database, database::Access::kReadOnly);
    const auto runs = history.runs(target.build_id);
    auto file = todays_directives(history, target.build_id, runs, input);
    if (const std::string earlier =
            file ? std::string() : earlier_build(history, program, target.build_id);
        !earlier.empty()) {
      print_note(fmt::format("{}: uses the directives of its earlier build {}", program, earlier));
      file = history.directives(earlier);
      try {
        history.store_directives(target.build_id, fs::canonical(program).string(), *file);
        file = todays_directives(history, target.build_id, runs, input);
      } catch (const database::DatabaseError &error) { // this build has no runs there to judge by
        print_note(fmt::format("{}: the history does not keep them for this build: {}", program,
                               error.what()));
      }
    }
    if (!file)
      throw no_directives(history, options, program, target.build_id);
    if (directives::was_slower_with(*file, input))
      print_note(fmt::format(
          "{}: directives made it slower than base pages with {}: it runs on base pages", program,
          directives::slower_input_count(*file) ? "this input"
                                                : "more inputs than the history distinguishes"));
    if (const std::string off =
            deviations_text(deviations_json(deviations_of(history, target.build_id, runs)));
        !off.empty())
      print_note(fmt::format(
          "{}: its runs differ from the analysed recording ({}): {}smalloc record --rate 1 -- "
          "COMMAND, then "
          "smalloc analyze",
          program, off,
          target.tells_accesses ? "" : "compile with -fplugin-arg-smalloc-profile-generate, "));
    return write_todays(*file, target.build_id);
  } catch (const database::DatabaseError &error) {
    throw failure_of(error);
  }
}

std::string settings(const ApplyOptions &options, const std::string &directives) {
  std::string text =
      options.base ? "heap:off,trace:off" : "directives:" + as_file_name_of_conf(directives);
  const auto add = [&](const char *key, const std::string &value) {
    if (!value.empty())
      text += fmt::format(",{}:{}", key, value);
  };
  add("validate", "on");
  add("input", options.input);
  add("pages", options.pages);
  add("budget", options.budget);
  add("stats", options.stats ? "exit" : "");
  return text + (options.conf.empty() ? "" : "," + options.conf);
}

int apply(const ApplyOptions &options) {
  set_quiet(options.quiet);
  const std::vector<std::string> command = command_of(*options.app, "apply", "run");
  const auto program = find_program(command.front());
  if (!program)
    throw cannot_start(command.front(), access(command.front().c_str(), F_OK) == 0 &&
                                                command.front().find('/') != std::string::npos
                                            ? EACCES
                                            : ENOENT);
  const Target target = inspect(*program);
  if (!target.obstacle.empty())
    print_warning("no superpages for this program", *program, target.obstacle, target.hint);
  else if (!target.has_sites && !options.base)
    print_warning(
        "no directive can reach this program", *program,
        "it was not compiled with the plugin, or directives apply to none of its allocations",
        compile_hint("-fplugin-arg-smalloc-rewrite=all app.c -o app"));
  warn_of_closed_entries(target, *program);
  const std::string file =
      options.base ? std::string() : directives_for(options, *program, target, command);
  if (const std::string why = check_passed_file(file); !why.empty())
    throw Failure{"cannot pass the directives on", file, why, "--directives FILE", kRunFailed};
  const std::string library = target.preloadable ? library_to_preload("libsmalloc.so") : "";
  const Environment environment = environment_with(library, settings(options, file));
  if (options.dry_run)
    return print_environment(environment, command);
  set_environment(environment);
  become(command);
}

std::function<int()> declare_apply(CLI::App &app) {
  auto options = std::make_shared<ApplyOptions>();
  options->app = &app;
  app.add_option("--directives", options->directives, "Take this file instead of the history")
      ->type_name("FILE")
      ->check(CLI::Validator(check_passed_file, ""));
  app.add_option("--db", options->database,
                 "File, or postgresql://... ($XDG_STATE_HOME/smalloc/smalloc.db)")
      ->type_name("DATABASE");
  app.add_flag("--base", options->base,
               "Run on base pages, and report the run as the baseline of comparisons");
  app.add_option("--input", options->input,
                 "A name for the program's input; without it, its arguments")
      ->type_name("NAME")
      ->check(CLI::Validator(
          [](const std::string &text) {
            return text.find(',') == std::string::npos && text.size() < 128
                       ? std::string()
                       : "a name has at most 127 letters and no comma";
          },
          ""));
  app.add_option("--pages", options->pages, "What backs superpages: thp, hugetlb, 1g, mthp or base")
      ->type_name("KIND")
      ->check(CLI::IsMember({"thp", "hugetlb", "1g", "mthp", "base"}).description(""));
  app.add_option("--budget", options->budget, "At most this much memory on superpages (512m, 10%)")
      ->type_name("SIZE")
      ->check(CLI::Validator(check_budget, ""));
  app.add_flag("--stats", options->stats, "Statistics on standard error when the command ends");
  app.add_option("--conf", options->conf, "Further settings of libsmalloc, as in SMALLOC_CONF")
      ->type_name("KEY:VALUE,...")
      ->check(CLI::Validator(check_conf, ""));
  app.add_flag("-n,--dry-run", options->dry_run,
               "Print the environment and the command, run nothing");
  app.add_flag("-q,--quiet", options->quiet, "No notes on standard error");
  app.prefix_command();
  return [options] { return apply(*options); };
}

} // namespace

const Verb kApplyVerb = {
    "apply",
    "run a program with the directives that hold for it, without recompiling it",
    "Looks the program's build-id up in the history, gives libsmalloc the directives that are left "
    "after validation, "
    "and becomes COMMAND, whose status and signals are kept. The run reports what it took and "
    "whether each directive "
    "held; the next smalloc command takes the report in.",
    {{"smalloc apply -- ./app input.dat", "with what smalloc analyze has found for ./app"},
     {"smalloc apply --base -- ./app input.dat",
      "on base pages: three of these, and a program that directives slow down is noticed"}},
    declare_apply};

} // namespace smalloc::cli
