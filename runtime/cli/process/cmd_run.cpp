// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cmd_run.cpp implements `smalloc run`. It preloads a library, appends settings to the user's own,
// and executes the command.
//
//   - libsmalloc.so becomes the process' malloc.
//   - A program with allocation sites keeps the compiler's decisions.
//   - A program that cannot be preloaded into (static, set-uid, another libc or word size) runs
//     unchanged, with a warning.
//
// The command replaces this process, so that its status, signals and process number are its own.
#include "runtime/cli/installation.h"
#include "runtime/cli/process/launch.h"
#include "runtime/cli/system_view.h"
#include "runtime/cli/verbs.h"
#include "runtime/errors/diagnostics.h"

#include <cstdlib>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace smalloc::cli {
namespace {

struct RunOptions {
  std::string heap, pages, budget, directives, numa, conf, root;
  bool stats = false, dry_run = false, quiet = false;
  CLI::App *app = nullptr;
};

std::string settings(const RunOptions &options) {
  std::string text;
  const auto add = [&](const char *key, const std::string &value) {
    if (!value.empty())
      text += fmt::format("{}{}:{}", text.empty() ? "" : ",", key, value);
  };
  add("heap", options.heap);
  add("pages", options.pages);
  add("budget", options.budget);
  add("directives", options.directives);
  add("numa", options.numa);
  add("stats", options.stats ? "exit" : "");
  if (!options.conf.empty())
    text += (text.empty() ? "" : ",") + options.conf;
  return text;
}

// Warns before the start of what the user would otherwise have to infer from timings.
void warn_about_system(const RunOptions &options) {
  const SystemView system(options.root);
  if (options.heap == "off" || options.pages == "base")
    return;
  const std::string thp = thp_mode(system);
  if (options.pages.empty() || options.pages == "thp") {
    if (thp == "never")
      print_warning("no superpages", "transparent huge pages", "they are switched off (never)",
                    "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
    else if (thp == "absent")
      print_warning("no superpages", "transparent huge pages", "this kernel has none",
                    "sysctl vm.nr_hugepages=512, then smalloc run --pages hugetlb");
  } else if (options.pages == "hugetlb" || options.pages == "1g") {
    const uint64_t wanted = options.pages == "1g" ? uint64_t{1} << 30 : uint64_t{2} << 20;
    uint64_t available = 0;
    for (const HugetlbPool &pool : hugetlb_pools(system))
      if (pool.page_bytes == wanted)
        available = pool.available();
    if (available == 0)
      print_warning("no hugetlb pages", options.pages == "1g" ? "1 GiB" : "2 MiB",
                    "the pool has no free page",
                    options.pages == "1g"
                        ? "echo 4 > /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages, "
                          "then the same command again"
                        : "sysctl vm.nr_hugepages=512, then the same command again");
  }
}

int run_command(const RunOptions &options) {
  set_quiet(options.quiet);
  const std::vector<std::string> command = command_of(*options.app, "run", "run");
  const auto program = find_program(command.front());
  const Target target = program ? inspect(*program) : Target{};
  if (program && !target.obstacle.empty())
    print_warning("no superpages for this program", *program, target.obstacle, target.hint);
  else if (program)
    warn_about_system(options);
  if (program)
    warn_of_closed_entries(target, *program);

  std::string library =
      program && target.preloadable ? library_to_preload("libsmalloc.so") : std::string();
  if (!library.empty() && options.numa == "migrate" && target.tells_accesses)
    library = with_listener(library);
  const Environment environment = environment_with(library, settings(options));
  if (options.dry_run)
    return print_environment(environment, command);
  set_environment(environment);
  become(command);
}

std::function<int()> declare_run(CLI::App &app) {
  auto options = std::make_shared<RunOptions>();
  options->app = &app;
  const auto choices = [](std::vector<std::string> names) {
    return CLI::IsMember(std::move(names)).description("");
  };
  app.add_option("--heap", options->heap, "auto, off, superpage (all), migrate or guest")
      ->type_name("STRATEGY")
      ->check(choices({"auto", "off", "superpage", "migrate", "guest"}));
  app.add_option("--pages", options->pages, "What backs superpages: thp, hugetlb, 1g, mthp or base")
      ->type_name("KIND")
      ->check(choices({"thp", "hugetlb", "1g", "mthp", "base"}));
  app.add_option("--budget", options->budget, "At most this much memory on superpages (512m, 10%)")
      ->type_name("SIZE")
      ->check(CLI::Validator(check_budget, ""));
  app.add_option("--directives", options->directives,
                 "Decisions from an earlier analysis (%h host, %r MPI rank, %% percent sign)")
      ->type_name("FILE")
      ->check(CLI::Validator(check_passed_file, ""));
  app.add_option("--numa", options->numa, "off, hints or migrate")
      ->type_name("POLICY")
      ->check(choices({"off", "hints", "migrate"}));
  app.add_flag("--stats", options->stats, "Statistics on standard error when the command ends");
  app.add_option("--conf", options->conf, "Further settings of libsmalloc, as in SMALLOC_CONF")
      ->type_name("KEY:VALUE,...")
      ->check(CLI::Validator(check_conf, ""));
  app.add_flag("-n,--dry-run", options->dry_run,
               "Print the environment and the command, run nothing");
  app.add_flag("-q,--quiet", options->quiet, "No notes on standard error");
  app.add_option("--root", options->root, "Read /sys and /proc below this folder")->group("");
  app.prefix_command();
  return [options] { return run_command(*options); };
}

} // namespace

const Verb kRunVerb = {
    "run",
    "run a program with superpages, without recompiling it",
    "Preloads libsmalloc, which serves malloc for the whole process, and becomes COMMAND, whose "
    "exit status and signals are kept. A program that was compiled with the plugin keeps the "
    "compiler's decisions.",
    {{"smalloc run -- ./app input.dat",
      "an unmodified program: superpages wherever they cost no memory"},
     {"smalloc run --heap superpage --budget 2g --stats -- ./app",
      "everything, up to 2 GiB, with a summary at the end"}},
    declare_run};

} // namespace smalloc::cli
