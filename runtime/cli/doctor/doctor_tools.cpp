// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// doctor_tools.cpp checks the compilers and linkers on PATH, and whether smalloc's libraries fit
// them and this command.
#include "runtime/cli/doctor/doctor.h"
#include "runtime/cli/input_file.h"
#include "runtime/cli/installation.h"
#include "runtime/cli/sites/elf_image.h"
#include "runtime/errors/diagnostics.h"
#include "smalloc/site.h"

#include <cctype>
#include <cstdlib>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace smalloc::cli {
namespace {

constexpr size_t kMaxOutput = 1 << 16;

// Runs a program without a shell. Appends its standard output and error to `output`. Returns the
// exit status; -1: not run.
int run_quietly(std::vector<std::string> command, std::string &output) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0)
    return -1;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDERR_FILENO);
  std::vector<char *> arguments;
  for (std::string &argument : command)
    arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  char buffer[4096];
  for (ssize_t got; error == 0 && (got = read(pipe_ends[0], buffer, sizeof buffer)) > 0;)
    if (output.size() < kMaxOutput)
      output.append(buffer, static_cast<size_t>(got));
  close(pipe_ends[0]);
  int status = 0;
  if (error != 0 || waitpid(child, &status, 0) != child)
    return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Returns the first word of a version text that starts like a number: "Debian clang version 22.1.8
// (++2026)" -> "22.1.8".
std::string version_in(const std::string &text) {
  for (size_t i = 0; i < text.size(); i++)
    if (std::isdigit(static_cast<unsigned char>(text[i])) && (i == 0 || text[i - 1] == ' ')) {
      size_t end = i;
      while (end < text.size() &&
             (std::isdigit(static_cast<unsigned char>(text[end])) || text[end] == '.'))
        end++;
      if (text.substr(i, end - i).find('.') != std::string::npos)
        return text.substr(i, end - i);
    }
  return {};
}

void check_tool(const char *name, const char *use, const char *package, bool needed,
                Checks &checks) {
  const auto path = find_program(name);
  if (!path) {
    checks.push_back({name, needed ? Verdict::kWarn : Verdict::kOk, nullptr,
                      fmt::format("{} is not on PATH ({})", name, use),
                      needed ? fmt::format("apt-get install {}", package) : ""});
    return;
  }
  std::string output;
  run_quietly({*path, "--version"}, output);
  const std::string version = version_in(output);
  checks.push_back(
      {name, Verdict::kOk,
       version.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(version),
       fmt::format("{} {} ({})", name, version.empty() ? "of unknown version" : version, use), ""});
}

// Checks a library of the runtime. The names of its entry points carry the ABI version, so they
// show whether the library fits.
void check_runtime(const char *name, const char *file, Checks &checks) {
  const auto path = find_library(file);
  if (!path) {
    checks.push_back({name, Verdict::kFail, nullptr,
                      fmt::format("{} is not beside this command", file), "cmake --build build"});
    return;
  }
  try {
    const auto bytes = read_file(*path, "cannot read the library", kProgramInput);
    bool serves = false;
    for (const DynamicSymbol &symbol : parse_elf(bytes, *path).dynamic_symbols("__smalloc_v"))
      serves |=
          symbol.defined && symbol.name == fmt::format("__smalloc_v{}_malloc", SMALLOC_ABI_VERSION);
    if (serves)
      checks.push_back({name, Verdict::kOk, SMALLOC_ABI_VERSION,
                        fmt::format("{} serves site version {}", *path, SMALLOC_ABI_VERSION), ""});
    else
      checks.push_back(
          {name, Verdict::kFail, 0,
           fmt::format("{} does not serve site version {}", *path, SMALLOC_ABI_VERSION),
           "cmake --build build"});
  } catch (const Failure &failure) {
    checks.push_back({name, Verdict::kFail, nullptr, fmt::format("{}: {}", *path, failure.why),
                      "cmake --build build"});
  }
}

// Checks a part that a build of single targets, like that of scripts/demo, leaves out.
void check_part(const char *name, const char *file, const char *use, Checks &checks) {
  const auto path = find_library(file);
  checks.push_back({name, path ? Verdict::kOk : Verdict::kWarn,
                    path ? nlohmann::ordered_json(*path) : nlohmann::ordered_json(),
                    path ? fmt::format("{} is there ({})", *path, use)
                         : fmt::format("{} is not beside this command: no {}", file, use),
                    path ? "" : "cmake --build build # or install all of smalloc"});
}

// Loads a plugin into its compiler: the only test that finds every difference between them.
void check_plugin(const Plugin &found, Checks &checks) {
  const std::string &plugin = found.path;
  const std::string compiler = fmt::format("clang-{}", found.llvm);
  const auto clang = find_program(compiler);
  if (!clang) {
    checks.push_back(
        {"plugin", Verdict::kWarn, plugin,
         fmt::format("{} is installed, but {}, its compiler, is not", plugin, compiler),
         "apt-get install " + compiler});
    return;
  }
  // Compile a unit with one site: the entry that the plugin calls carries the ABI version in its
  // name.
  const int unit = memfd_create("site", 0);
  const std::string text = "void *malloc(unsigned long);\n"
                           "void *site(unsigned long n) { return malloc(n); }\n";
  if (unit < 0 || write(unit, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    if (unit >= 0)
      close(unit);
    checks.push_back({"plugin", Verdict::kWarn, plugin, "the plugin could not be tried", ""});
    return;
  }
  std::string output;
  const int status = run_quietly({*clang, "-fplugin=" + plugin, "-O1", "-x", "c", "-S", "-o", "-",
                                  fmt::format("/proc/self/fd/{}", unit)},
                                 output);
  close(unit);
  const std::string first_line = output.substr(0, output.find('\n'));
  const std::string prefix = "__smalloc_v";
  const size_t at = output.find(prefix);
  const auto version =
      at == std::string::npos ? 0 : std::strtol(output.c_str() + at + prefix.size(), nullptr, 10);
  if (status != 0)
    checks.push_back(
        {"plugin", Verdict::kFail, plugin,
         fmt::format("{} does not load into {}: {}", plugin, compiler, printable(first_line)),
         "cmake --build build --clean-first"});
  else if (version != SMALLOC_ABI_VERSION)
    checks.push_back({"plugin", Verdict::kFail, plugin,
                      fmt::format("{} compiles for site version {}, this command and its libraries "
                                  "are of version {}",
                                  plugin, version, SMALLOC_ABI_VERSION),
                      "cmake --build build --clean-first"});
  else
    checks.push_back({"plugin", Verdict::kOk, plugin,
                      fmt::format("{} loads into {} and compiles for site version {}", plugin,
                                  compiler, version),
                      ""});
}

} // namespace

void check_tools(Checks &checks) {
  const std::vector<Plugin> plugins = find_plugins();
  std::vector<int> versions;
  for (const Plugin &plugin : plugins)
    versions.push_back(plugin.llvm);
  if (versions.empty())
    versions = {22};
  for (const int llvm : versions) {
    const std::string clang = fmt::format("clang-{}", llvm), lld = fmt::format("lld-{}", llvm),
                      package = fmt::format("flang-{}", llvm),
                      flang = fmt::format("{}-{}", llvm < 20 ? "flang-new" : "flang", llvm);
    check_tool(clang.c_str(), "C and C++ with the plugin", clang.c_str(), true, checks);
    check_tool(flang.c_str(), "Fortran with the plugin", package.c_str(), false, checks);
    check_tool(("ld." + lld).c_str(), "link-time optimisation with the plugin", lld.c_str(), false,
               checks);
  }
  check_tool("ld", "linker", "binutils", true, checks);
  check_tool("ld.gold", "linker", "binutils", false, checks);
  if (plugins.empty())
    checks.push_back(
        {"plugin", Verdict::kWarn, nullptr,
         "SmallocPlugin.so is not beside this command: nothing can be compiled with it",
         "cmake -B build -DSMALLOC_BUILD_PASSES=ON && cmake --build build"});
  for (const Plugin &plugin : plugins)
    check_plugin(plugin, checks);
  check_runtime("libsmalloc", "libsmalloc.so", checks);
  check_part("libsmalloc-feedback", "libsmalloc_feedback.so",
             "smalloc record, profile-generate, NUMA migration", checks);
  check_part("libsmalloc-static", "libsmalloc.a", "static programs", checks);
}

} // namespace smalloc::cli
