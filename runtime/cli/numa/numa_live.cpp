// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// numa_live.cpp implements `smalloc numa record` and `replay` as `smalloc run --numa migrate` with
// a log. It disables address randomisation, because a log only fits runs with the same addresses.
#include "runtime/cli/numa/numa_live.h"

#include "runtime/cli/input_file.h"
#include "runtime/cli/verbs.h"
#include "runtime/errors/diagnostics.h"
#include "runtime/numa/live/migration_log.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>
#include <sys/personality.h>
#include <unistd.h>

namespace smalloc::cli {
namespace {

/// Checks the log before the command runs, also if nothing will migrate.
void check_log(const std::string &path) {
  const std::string header = numa::kLogHeader;
  const std::string hint = "smalloc numa record -o LOG -- ./app";
  const auto bytes = read_file(path, "cannot use the log", kTextInput, hint);
  if (bytes.size() < header.size() || !std::equal(header.begin(), header.end(), bytes.begin()))
    throw Failure{"cannot use the log", path, "it does not begin with '" + header + "'", hint,
                  kFailed};
}

} // namespace

void numa_run(const NumaRunOptions &o) {
  const std::vector<std::string> &command = command_behind_dashes();
  if (command.size() < 2)
    throw Failure{"cannot understand the command line", "smalloc numa", "no command to run",
                  "smalloc numa record -- ./app", kUsage};
  std::string conf = fmt::format("numa_interval:{:.3f},numa_log:{}", o.interval_seconds, o.log);
  const auto add = [&conf](const char *key, const std::string &value) {
    if (!value.empty())
      conf += fmt::format(",{}:{}", key, value);
  };
  if (!o.from.empty()) {
    char path[PATH_MAX]; // an absolute path, since the command may run in another folder
    if (!realpath(o.from.c_str(), path))
      throw Failure{"cannot read the log", o.from, error_text(errno),
                    "smalloc numa record -o " + o.from + " -- ./app", kFailed};
    check_log(o.from);
    add("numa_replay", path);
    add("numa", o.place ? "place" : "");
  }
  add("numa_source", o.source);
  if (!o.conf.empty())
    conf += "," + o.conf;
  const int before = personality(0xffffffff);
  if (before < 0 || personality(static_cast<unsigned long>(before) | ADDR_NO_RANDOMIZE) < 0)
    print_warning("addresses will differ from run to run", "personality", error_text(errno),
                  "run outside the container, or allow personality(2) in its seccomp profile");
  std::vector<std::string> arguments = {"smalloc", "run", "--numa", "migrate", "--conf", conf};
  arguments.insert(arguments.end(), command.begin(), command.end());
  std::vector<char *> raw;
  for (std::string &argument : arguments)
    raw.push_back(argument.data());
  raw.push_back(nullptr);
  execv("/proc/self/exe", raw.data());
  throw Failure{"cannot run the command", command[1], error_text(errno), "smalloc run -- ./app",
                kFailed};
}

} // namespace smalloc::cli
