// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// recorded_programs.cpp decides that programs are told apart by their builds, and what cannot be read by its name.
#include "runtime/cli/recorded_programs.h"

#include "runtime/study/command_line.h"
#include "runtime/trace/reader.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

namespace smalloc::cli {
namespace {

constexpr size_t kMostPrograms = 3, kMostTraces = 8;

std::string program_of(const std::string &path) {
  try {
    const trace::Reader reader(path);
    for (const char *key : {"build_id", "program"})
      if (const auto at = reader.header().find(key);
          at != reader.header().end() && !at->second.empty())
        return at->second;
  } catch (const trace::TraceError &) {
  }
  return {};
}

struct Program {
  uintmax_t bytes = 0;
  std::vector<std::pair<uintmax_t, std::string>> traces;
};

} // namespace

std::vector<std::string> next_analyses(const std::vector<std::string> &traces) {
  std::map<std::string, Program> by_name;
  for (const std::string &path : traces) {
    std::error_code error;
    const uintmax_t bytes = std::filesystem::file_size(path, error);
    Program &program = by_name[program_of(path)];
    program.traces.emplace_back(error ? 0 : bytes, path);
    program.bytes += program.traces.back().first;
  }
  std::vector<Program> programs;
  for (auto &[name, program] : by_name)
    programs.push_back(std::move(program));
  std::stable_sort(programs.begin(), programs.end(),
                   [](const Program &a, const Program &b) { return a.bytes > b.bytes; });
  programs.resize(std::min(programs.size(), kMostPrograms));
  std::vector<std::string> commands;
  for (Program &program : programs) {
    if (program.traces.size() > kMostTraces) {
      std::stable_sort(program.traces.begin(), program.traces.end(),
                       [](const auto &a, const auto &b) { return a.first > b.first; });
      program.traces.resize(kMostTraces);
    }
    std::string command = "smalloc analyze";
    for (const auto &[bytes, path] : program.traces)
      command += " " + study::shell_word(path);
    commands.push_back(std::move(command));
  }
  return commands;
}

} // namespace smalloc::cli
