// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// recorded_programs.cpp groups traces by build-id, else by the program's name. Of many processes of
// a program only the largest traces are analysed. If some were forked by others, all are: they are
// one run.
#include "runtime/cli/analyze/recorded_programs.h"

#include "runtime/study/command_line.h"
#include "runtime/trace/reader.h"

#include <algorithm>
#include <filesystem>
#include <map>

namespace smalloc::cli {
namespace {

constexpr size_t kMostPrograms = 3, kMostTraces = 8;

trace::Header header_of(const std::string &path) {
  try {
    return trace::Reader::header_of(path);
  } catch (const trace::TraceError &) {
    return {};
  }
}

std::string program_of(const trace::Header &header) {
  const std::string build_id = header.word("build_id");
  return build_id.empty() ? header.word("program") : build_id;
}

struct Program {
  uintmax_t bytes = 0;
  bool forks = false;
  std::vector<std::pair<uintmax_t, std::string>> traces;
};

} // namespace

std::vector<std::string> next_analyses(const std::vector<std::string> &traces) {
  std::map<std::string, Program> by_name;
  for (const std::string &path : traces) {
    std::error_code error;
    const uintmax_t bytes = std::filesystem::file_size(path, error);
    const trace::Header header = header_of(path);
    Program &program = by_name[program_of(header)];
    program.forks |= header.contains("parent_start_ns");
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
    if (program.traces.size() > kMostTraces && !program.forks) {
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
