// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cmd_run.cpp decides what `smalloc run` puts into a command's environment before it becomes that
// command: which of our libraries is preloaded, and which settings are appended to the user's own.
//
//  - a program with allocation sites gets libsmalloc.so and keeps the compiler's decisions;
//  - any other gets libsmalloc_preload.so, which decides by size, and heap:split unless asked
//  otherwise;
//  - what cannot be preloaded into (static, set-uid, another libc or word size) runs unchanged,
//  with a warning.
// The command replaces this process, so that its status, its signals and its process number are its
// own.
#include "runtime/cli/diagnostics.h"
#include "runtime/cli/elf_sites.h"
#include "runtime/cli/input_file.h"
#include "runtime/cli/installation.h"
#include "runtime/cli/system_view.h"
#include "runtime/cli/verbs.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace smalloc::cli {
namespace {

std::vector<std::string> command_to_run;

struct Options {
  std::string heap, pages, budget, directives, numa, conf, root;
  bool stats = false, dry_run = false, quiet = false;
  CLI::App *app = nullptr;
};

// What was found out about the command before it is started.
struct Target {
  bool has_sites = false;
  bool preloadable = true;
  std::string obstacle, hint; // why superpages will not reach it
};

Target inspect_elf(const std::string &path, const std::vector<unsigned char> &bytes) {
  Target target;
  try {
    const ElfImage image = parse_elf(bytes, path);
    if (image.interpreter().empty()) {
      // The environment still goes to what it starts.
      target.obstacle = "it is a static executable, which loads no library";
      target.hint = "link it without -static";
    } else if (image.interpreter().find("ld-musl") != std::string::npos) {
      target.preloadable = false;
      target.obstacle = "it uses musl, and libsmalloc.so is built for glibc";
    }
    target.has_sites = !read_sites(image).sites.empty();
  } catch (const Failure &failure) {
    target.preloadable = false;
    target.obstacle = failure.why;
  }
  return target;
}

// Reads the program, or the interpreter of a script, which is what will run.
Target inspect(const std::string &path, int depth = 0) {
  Target target;
  std::vector<unsigned char> bytes;
  try {
    bytes = read_file(path, "cannot read the program");
  } catch (const Failure &) {
    return target; // executable but not readable: nothing to go by
  }
  struct stat info;
  const bool privileged = stat(path.c_str(), &info) == 0 &&
                          (((info.st_mode & S_ISUID) && info.st_uid != getuid()) ||
                           ((info.st_mode & S_ISGID) && info.st_gid != getgid()) ||
                           getxattr(path.c_str(), "security.capability", nullptr, 0) > 0);
  if (looks_like_elf(bytes)) {
    target = inspect_elf(path, bytes);
  } else if (bytes.size() > 2 && bytes[0] == '#' && bytes[1] == '!' && depth < 4) {
    const std::string text(bytes.begin() + 2, std::find(bytes.begin(), bytes.end(), '\n'));
    const size_t from = text.find_first_not_of(" \t");
    if (from != std::string::npos) {
      const size_t end = text.find_first_of(" \t\r", from);
      target = inspect(text.substr(from, end == std::string::npos ? end : end - from), depth + 1);
      // The sites of a script's interpreter say nothing of the programs that the script starts.
      target.has_sites = false;
    }
  }
  if (privileged && target.obstacle.empty()) {
    target.obstacle = "it runs with raised privileges, and the loader ignores LD_PRELOAD for it";
    target.hint = "run it as the user that it changes to";
  }
  return target;
}

// "512m", "10%": what libsmalloc reads.
std::string check_budget(const std::string &text) {
  size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9')
    digits++;
  const std::string unit = text.substr(digits);
  const bool good =
      digits > 0 && (unit.empty() || (unit.size() == 1 && std::strchr("kKmMgGtT%", unit[0])));
  return good ? std::string() : "'" + text + "' is neither a size (512m, 2g) nor a share (10%)";
}

std::string check_conf(const std::string &text) {
  return text.find(':') == std::string::npos ? "'" + text + "' is not KEY:VALUE" : std::string();
}

std::string check_file_name(const std::string &text) {
  return text.find(',') == std::string::npos ? std::string()
                                             : "a file name with a comma cannot be passed on";
}

std::string settings(const Options &options, const Target &target) {
  std::string text;
  const auto add = [&](const char *key, const std::string &value) {
    if (!value.empty())
      text += fmt::format("{}{}:{}", text.empty() ? "" : ",", key, value);
  };
  // Without an order the sites' own decisions stand; a program without sites has none.
  const char *user = std::getenv("SMALLOC_CONF");
  const bool user_heap =
      user && (std::strncmp(user, "heap:", 5) == 0 || std::strstr(user, ",heap:"));
  add("heap", options.heap.empty() && !target.has_sites && !user_heap ? "split" : options.heap);
  // Nobody put promotion points into such a program, and it may never allocate again.
  const bool user_promoter = user && std::strstr(user, "promoter:");
  add("promoter", target.has_sites || user_promoter ? "" : "thread");
  add("pages", options.pages);
  add("budget", options.budget);
  add("directives", options.directives);
  add("numa", options.numa);
  add("stats", options.stats ? "exit" : "");
  if (!options.conf.empty())
    text += (text.empty() ? "" : ",") + options.conf;
  return text;
}

std::string joined(const char *first, const std::string &second, char separator) {
  if (!first || !*first)
    return second;
  return second.empty() ? std::string(first) : fmt::format("{}{}{}", first, separator, second);
}

// Says before the start what the user would otherwise have to find out from timings.
void warn_about_system(const Options &options) {
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

std::string library_for(const Target &target) {
  const char *name = target.has_sites ? "libsmalloc.so" : "libsmalloc_preload.so";
  const auto path = find_library(name);
  if (!path) {
    std::string folders;
    for (const std::string &folder : library_folders())
      folders += (folders.empty() ? "" : ", ") + folder;
    throw Failure{"cannot find the library", name, "it is in none of " + folders,
                  "build or install smalloc again: cmake --build build", kRunFailed};
  }
  if (path->find_first_of(" :") != std::string::npos)
    throw Failure{"cannot preload the library", *path,
                  "LD_PRELOAD separates names by spaces and colons",
                  "install smalloc under a path without them", kRunFailed};
  return *path;
}

[[noreturn]] void become(std::vector<std::string> command) {
  std::vector<char *> arguments;
  for (std::string &argument : command)
    arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  const bool missing = error == ENOENT;
  throw Failure{"cannot run the command", command[0], error_text(error),
                missing ? "check the name, or give a path such as ./" + command[0]
                        : "ls -l " + command[0],
                missing ? kNotFound : kNotExecutable};
}

int run_command(const Options &options) {
  set_quiet(options.quiet);
  std::vector<std::string> command = options.app->remaining();
  if (!command.empty() && command.front().size() > 1 && command.front()[0] == '-')
    throw Failure{"cannot understand the command line", "smalloc run",
                  "unknown option " + command.front(), "smalloc run --help", kRunFailed};
  // "--" ends our options once; behind a command's name it is the command's.
  const auto from = command_to_run.begin() + (command.empty() && !command_to_run.empty() ? 1 : 0);
  command.insert(command.end(), from, command_to_run.end());
  if (command.empty() || command.front().empty())
    throw Failure{"cannot understand the command line", "smalloc run", "no command to run",
                  "smalloc run -- ./app", kRunFailed};
  const auto program = find_program(command.front());
  const Target target = program ? inspect(*program) : Target{};
  if (program && !target.obstacle.empty())
    print_warning("no superpages for this program", *program, target.obstacle, target.hint);
  else if (program)
    warn_about_system(options);

  const std::string library = program && target.preloadable ? library_for(target) : std::string();
  const std::string preload = library.empty() ? joined(std::getenv("LD_PRELOAD"), "", ':') : [&] {
    const char *users =
        std::getenv("LD_PRELOAD"); // ours first: a peer's free must not see our pointers
    return joined(library.c_str(), users ? users : "", ':');
  }();
  const std::string conf = joined(std::getenv("SMALLOC_CONF"), settings(options, target), ',');
  if (options.dry_run) {
    std::string line = fmt::format("LD_PRELOAD={} SMALLOC_CONF={}", preload, conf);
    for (const std::string &argument : command)
      line += " " + argument;
    std::puts(line.c_str());
    return std::fflush(stdout) == 0 ? kDone : kRunFailed;
  }
  if (!preload.empty())
    setenv("LD_PRELOAD", preload.c_str(), 1);
  if (!conf.empty())
    setenv("SMALLOC_CONF", conf.c_str(), 1);
  become(std::move(command));
}

std::function<int()> declare(CLI::App &app) {
  auto options = std::make_shared<Options>();
  options->app = &app;
  const auto choices = [](std::vector<std::string> names) {
    return CLI::IsMember(std::move(names)).description("");
  };
  app.add_option("--heap", options->heap, "split, off, superpage (all) or migrate")
      ->type_name("STRATEGY")
      ->check(choices({"split", "off", "superpage", "migrate"}));
  app.add_option("--pages", options->pages, "What backs superpages: thp, hugetlb, 1g, mthp or base")
      ->type_name("KIND")
      ->check(choices({"thp", "hugetlb", "1g", "mthp", "base"}));
  app.add_option("--budget", options->budget, "Never more superpages than this (512m, 10%)")
      ->type_name("SIZE")
      ->check(CLI::Validator(check_budget, ""));
  app.add_option("--directives", options->directives, "Decisions from an earlier analysis")
      ->type_name("FILE")
      ->check(CLI::Validator(check_file_name, ""));
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

void set_command_to_run(std::vector<std::string> arguments) {
  command_to_run = std::move(arguments);
}
const std::vector<std::string> &command_behind_dashes() { return command_to_run; }

const Verb kRunVerb = {
    "run",
    "run a program with superpages, without recompiling it",
    "Preloads libsmalloc and becomes COMMAND, whose exit status and signals are kept. A program "
    "that was compiled with the "
    "plugin keeps the compiler's decisions; for any other, libsmalloc decides by object size.",
    {{"smalloc run -- ./app input.dat",
      "an unmodified program: big objects are promoted while it runs"},
     {"smalloc run --heap superpage --budget 2g --stats -- ./app",
      "everything, up to 2 GiB, with a summary at the end"}},
    declare};

} // namespace smalloc::cli
