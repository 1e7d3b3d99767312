// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// launch.cpp finds the obstacles of a program: static, another libc or word size, raised
// privileges. A program with an obstacle is started unchanged; the caller warns.
#include "runtime/cli/process/launch.h"

#include "runtime/cli/input_file.h"
#include "runtime/cli/installation.h"
#include "runtime/cli/process/settings_check.h"
#include "runtime/cli/sites/closed_entries.h"
#include "runtime/cli/sites/elf_sites.h"
#include "runtime/cli/verbs.h"
#include "runtime/study/command_line.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace smalloc::cli {
namespace {

std::vector<std::string> command_to_run;

Target inspect_elf(const std::string &path, const std::vector<unsigned char> &bytes) {
  Target target;
  try {
    const ElfImage image = parse_elf(bytes, path);
    target.build_id = image.build_id();
    if (image.interpreter().empty()) {
      target.is_static = true;
      // Its child processes still inherit the environment.
      target.obstacle = "it is a static executable, which loads no library";
      target.hint = "link it without -static";
    } else if (image.interpreter().find("ld-musl") != std::string::npos) {
      target.preloadable = false;
      target.obstacle = "it uses musl, and libsmalloc.so is built for glibc";
    }
    const auto sites = read_sites(image).sites;
    target.has_sites = !sites.empty();
    if (const auto closed = closed_entries(image, sites)) {
      target.closed_entries = closed->why;
      target.closed_cure = closed->cure;
    }
    target.tells_accesses = !image.dynamic_symbols("__smalloc_v1_open_gate").empty();
    // A program with libsmalloc.a defines the entry itself.
    const auto entry = image.dynamic_symbols("__smalloc_v1_register_module");
    const auto needed = image.needed_libraries();
    target.needs_preload = !entry.empty() && !entry.front().defined &&
                           std::none_of(needed.begin(), needed.end(), [](const std::string &name) {
                             return name.starts_with("libsmalloc");
                           });
  } catch (const Failure &failure) {
    target.preloadable = false;
    target.obstacle = failure.why;
  }
  return target;
}

// True if the file raises privileges. For a script the kernel ignores both kinds. Root has all
// capabilities, and gains none from a file.
bool raises_privileges(const std::string &path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 &&
         (((info.st_mode & S_ISUID) && info.st_uid != getuid()) ||
          ((info.st_mode & S_ISGID) && info.st_gid != getgid()) ||
          (geteuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0));
}

Target inspect_at_depth(const std::string &path, int depth) {
  Target target;
  std::vector<unsigned char> bytes;
  try {
    bytes = read_file(path, "cannot read the program", kProgramInput);
  } catch (const Failure &) {
    return target; // executable but not readable: nothing is known
  }
  if (looks_like_elf(bytes)) {
    target = inspect_elf(path, bytes);
    target.raises_privileges = raises_privileges(path);
  } else if (bytes.size() > 2 && bytes[0] == '#' && bytes[1] == '!' && depth < 4) {
    const std::string text(bytes.begin() + 2, std::find(bytes.begin(), bytes.end(), '\n'));
    const size_t from = text.find_first_not_of(" \t");
    if (from != std::string::npos) {
      const size_t end = text.find_first_of(" \t\r", from);
      target = inspect_at_depth(text.substr(from, end == std::string::npos ? end : end - from),
                                depth + 1);
      // The sites of a script's interpreter say nothing about the programs that the script starts.
      target.has_sites = target.is_static = target.tells_accesses = target.needs_preload = false;
      target.build_id.clear();
      target.closed_entries.clear();
    }
  }
  if (target.raises_privileges && target.obstacle.empty()) {
    target.obstacle = "it runs with raised privileges, and the loader ignores LD_PRELOAD for it";
    target.hint = "run it as the user that it changes to";
  }
  return target;
}

// A folder name that only glibc's loader understands. A musl loader would preload the library as
// well, and end the program because of symbols that only glibc has. It takes $LIB literally, finds
// no such file and continues without it. glibc's loader replaces $LIB by its folder of libraries.
// The parent of the root is the root.
constexpr char kGlibcOnly[] = "/$LIB/../../../../../../../..";

bool has_musl() {
  std::error_code error;
  for (const auto &entry : std::filesystem::directory_iterator("/lib", error))
    if (entry.path().filename().string().starts_with("ld-musl-"))
      return true;
  return false;
}

// True if glibc's loader replaces $LIB by a folder of libraries; asks this process's own loader.
bool glibc_takes_folder() {
  void *library = dlopen("/$LIB/libm.so.6", RTLD_LAZY);
  if (library)
    dlclose(library);
  return library != nullptr;
}

} // namespace

void set_command_to_run(std::vector<std::string> arguments) {
  command_to_run = std::move(arguments);
}
const std::vector<std::string> &command_behind_dashes() { return command_to_run; }

std::vector<std::string> command_of(const CLI::App &app, const std::string &verb,
                                    const std::string &doing) {
  std::vector<std::string> command = app.remaining();
  if (!command.empty() && command.front().size() > 1 && command.front()[0] == '-')
    throw Failure{"cannot understand the command line", "smalloc " + verb,
                  "unknown option " + command.front(), "smalloc " + verb + " --help", kRunFailed};
  // "--" ends the options of this command once; after the command's name it belongs to the command.
  const std::vector<std::string> &behind = command_behind_dashes();
  command.insert(command.end(), behind.begin() + (command.empty() && !behind.empty() ? 1 : 0),
                 behind.end());
  if (command.empty() || command.front().empty())
    throw Failure{"cannot understand the command line", "smalloc " + verb, "no command to " + doing,
                  "smalloc " + verb + " -- ./app", kRunFailed};
  return command;
}

Target inspect(const std::string &path) { return inspect_at_depth(path, 0); }

void warn_of_closed_entries(const Target &target, const std::string &program) {
  if (target.obstacle.empty() && !target.closed_entries.empty())
    print_warning("the compiler's decisions have no effect", program, target.closed_entries,
                  target.closed_cure);
}

std::string library_to_preload(const std::string &name) {
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
  return path->front() == '/' && has_musl() && glibc_takes_folder() ? kGlibcOnly + *path : *path;
}

std::string with_listener(const std::string &allocator) {
  return joined(allocator, library_to_preload("libsmalloc_feedback.so"), ':');
}

std::string joined(const std::string &first, const std::string &second, char separator) {
  if (first.empty())
    return second;
  return second.empty() ? first : fmt::format("{}{}{}", first, separator, second);
}

std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

namespace {
// Returns the GLIBC_TUNABLES to set; empty: the program keeps its own. Under an audit library
// (LD_AUDIT) glibc reserves thread-local storage before it reads the program's libraries.
// libsmalloc's thread-local storage takes 2.7 KiB, most of it jemalloc's.
std::string tunables_for_audit() {
  const std::string key = "glibc.rtld.optional_static_tls", set = environment("GLIBC_TUNABLES");
  return environment("LD_AUDIT").empty() || set.find(key) != std::string::npos
             ? std::string()
             : joined(set, key + "=8192", ':');
}
} // namespace

Environment environment_with(const std::string &library, const std::string &settings) {
  // libsmalloc is first: another allocator's free must not receive libsmalloc's pointers.
  return {joined(library, environment("LD_PRELOAD"), ':'),
          joined(environment("SMALLOC_CONF"), settings, ','), tunables_for_audit()};
}

int print_environment(const Environment &environment, const std::vector<std::string> &command) {
  const auto value = [](const std::string &text) {
    return text.empty() ? text : study::shell_word(text);
  };
  std::string line = fmt::format("LD_PRELOAD={} SMALLOC_CONF={}", value(environment.preload),
                                 value(environment.conf));
  if (!environment.tunables.empty())
    line = "GLIBC_TUNABLES=" + value(environment.tunables) + " " + line;
  for (const std::string &argument : command)
    line += " " + study::shell_word(argument);
  std::puts(line.c_str());
  return std::fflush(stdout) == 0 ? kDone : kRunFailed;
}

void set_environment(const Environment &environment) {
  if (!environment.preload.empty())
    setenv("LD_PRELOAD", environment.preload.c_str(), 1);
  if (!environment.conf.empty())
    setenv("SMALLOC_CONF", environment.conf.c_str(), 1);
  if (!environment.tunables.empty())
    setenv("GLIBC_TUNABLES", environment.tunables.c_str(), 1);
}

Failure cannot_start(const std::string &command, int error) {
  const bool missing = error == ENOENT;
  return {"cannot run the command", command, error_text(error),
          !missing ? "ls -l " + command
          : command.find('/') != std::string::npos
              ? "check the name"
              : "check the name, or give a path such as ./" + command,
          missing ? kNotFound : kNotExecutable};
}

void become(std::vector<std::string> command) {
  std::vector<char *> arguments;
  for (std::string &argument : command)
    arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  throw cannot_start(command[0], errno);
}

// Checks "512m" or "10%". A limit that libsmalloc would refuse would be no limit at all.
std::string check_budget(const std::string &text) {
  return text.find(',') == std::string::npos ? complaint_about("budget:" + text)
                                             : "'" + text + "' is neither a size nor a share";
}

std::string check_conf(const std::string &text) {
  return text.find(':') == std::string::npos ? "'" + text + "' is not KEY:VALUE" : std::string();
}

std::string check_passed_file(const std::string &text) {
  return text.find(',') == std::string::npos ? std::string()
                                             : "a file name with a comma cannot be passed on";
}

} // namespace smalloc::cli
