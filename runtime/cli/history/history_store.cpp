// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// history_store.cpp opens the history and writes numbers of analyses and runs into a directives
// file's first line.
#include "runtime/cli/history/history_store.h"
#include "runtime/database/schema.h"

#include "runtime/cli/input_file.h"
#include "runtime/cli/sites/elf_image.h"
#include "runtime/cli/sites/site_report.h"
#include "runtime/database/run_lines.h"
#include "runtime/trace/reader.h"
#include "smalloc/base/clock.h"
#include "smalloc/base/fnv.h"
#include "smalloc/include/smalloc/directive.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

namespace smalloc::cli {
namespace {

using database::Access;
using database::History;

constexpr char kUnknownInput[] = "unknown";

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (const size_t colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return {};
}

database::Machine this_machine(const std::string &profile) {
  database::Machine machine;
  machine.host = host_name();
  machine.profile = profile;
  machine.cpu = cpu_name();
  machine.processors = sysconf(_SC_NPROCESSORS_ONLN);
  machine.memory_bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  machine.last_seen_ns = now_ns();
  return machine;
}

database::Analysis analysis_of(const Profile &p, const format::MachineProfile &machine,
                               const std::string &input, double saved_seconds) {
  database::Analysis a;
  a.program = p.traces.front().build_id;
  a.path = p.traces.front().program;
  a.created_ns = now_ns();
  a.machine = machine.name;
  a.input = input;
  a.traces = static_cast<int64_t>(p.traces.size());
  for (const TraceSummary &t : p.traces) {
    a.accesses += t.accesses;
    a.seconds += t.seconds;
  }
  a.significant = p.significant;
  a.cycles_base = p.cycles_base;
  a.saved_all = p.saved_all;
  a.saved_joint = p.saved_joint;
  a.saved_seconds = saved_seconds;
  // Numbers of one run, for comparison with the counts of one run.
  const double runs = p.runs();
  // A run counts the misses of its own process, not those of its children.
  const bool forks = std::any_of(p.traces.begin(), p.traces.end(),
                                 [](const TraceSummary &t) { return t.forked(); });
  if (a.accesses > 0 && !forks) {
    a.tlb_misses_base = p.tlb_misses_base / runs;
    a.tlb_misses_directed = p.tlb_misses_steerable / runs;
  }
  if (a.accesses > 0) {
    a.page_faults_base = p.page_faults_base / runs;
    a.page_faults_directed = p.page_faults_steerable / runs;
  }
  const benefit::CostModel costs(machine);
  a.touch_seconds = costs.fault_cycles(benefit::kSuperpageBytes) / costs.frequency_hz();
  a.superpages_chosen = static_cast<int64_t>(p.superpages_chosen);
  for (size_t i = 0; i < p.mappings.size(); i++) {
    const RankedMapping &m = p.mappings[i];
    a.ranking.push_back({static_cast<int64_t>(i + 1),
                         m.kind == benefit::CategoryKind::kStatic      ? "static"
                         : m.kind == benefit::CategoryKind::kSizeClass ? "size_class"
                         : !m.members.empty()                          ? "dynamic"
                         : m.context                                   ? "site_context"
                         : m.object                                    ? "object"
                                                                       : "site",
                         fmt::format("{:016x}", m.id), m.function, m.file, int64_t{m.line},
                         static_cast<int64_t>(m.mapping.superpages),
                         static_cast<int64_t>(m.footprint_bytes), m.mapping.saved_cycles,
                         m.mapping.saved_cycles_low, m.mapping.saved_cycles_high,
                         m.mapping.pmb_percent, m.mapping.chosen});
  }
  return a;
}

std::vector<std::string> builds_of(History &history, const std::string &build_id,
                                   const std::string &path) {
  std::vector<std::string> builds;
  if (!path.empty())
    builds = history.builds_at(path);
  if (std::find(builds.begin(), builds.end(), build_id) == builds.end())
    builds.push_back(build_id);
  return builds;
}

// True if the file is empty. A command that only reads must not make a history of a file that the
// user named. The default file is empty while another command creates it.
bool is_empty(const std::string &place) {
  std::error_code error;
  return std::filesystem::file_size(place, error) == 0;
}

} // namespace

int64_t now_ns() { return static_cast<int64_t>(wall_clock_ns()); }

std::string host_name() {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  return host;
}

std::string readable_time(int64_t ns) {
  if (ns <= 0)
    return "-";
  const time_t seconds = ns / 1000000000;
  tm parts;
  char text[32];
  gmtime_r(&seconds, &parts);
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts));
}

std::string state_folder() {
  const char *state = std::getenv("XDG_STATE_HOME"), *home = std::getenv("HOME");
  if (state && *state == '/')
    return std::string(state) + "/smalloc";
  if (home && *home == '/')
    return std::string(home) + "/.local/state/smalloc";
  throw Failure{"cannot find the history", "HOME",
                home && *home ? "it is no absolute path" : "it is not set", "--db FILE", kFailed};
}

std::string database_location(const std::string &location) {
  return location.empty() ? state_folder() + "/smalloc.db" : location;
}

Failure failure_of(const database::DatabaseError &error) {
  return {"cannot use the history", error.where, error.what(), error.hint, kFailed};
}

int with_history(const std::function<int()> &work) {
  try {
    return work();
  } catch (const database::DatabaseError &error) {
    throw failure_of(error);
  }
}

History open_history(const std::string &location, Access least, Reports reports) {
  const std::string place = database_location(location);
  const bool file = !database::is_postgresql(place);
  if (least == Access::kReadOnly && file &&
      (access(place.c_str(), F_OK) != 0 || access(place.c_str(), W_OK) != 0 ||
       (!location.empty() && is_empty(place)))) {
    // Without a file, the reports of programs make a history, too.
    if (access(place.c_str(), F_OK) == 0 || !location.empty())
      return History(database::open_database(place, Access::kReadOnly));
  }
  // A command that only reads creates no file if there is nothing to read.
  const auto is_missing = [](const std::string &path) {
    return access(path.c_str(), F_OK) != 0 && errno == ENOENT;
  };
  if (least == Access::kReadOnly && location.empty() && is_missing(place) &&
      is_missing(state_folder() + "/runs"))
    return History(database::open_database(database::kNoFile, Access::kReadWrite));
  History history(database::open_database(place, Access::kReadWrite));
  if (reports == Reports::kLeave)
    return history;
  std::string runs;
  try {
    runs = state_folder() + "/runs";
  } catch (const Failure &) {
    return history; // without a folder there are no reports
  }
  const database::Imported imported = database::import_runs(runs, history);
  if (imported.bad_lines)
    print_warning("bad reports of runs", runs,
                  fmt::format("{} lines are no smalloc.run/1, ignored", imported.bad_lines));
  return history;
}

std::optional<directives::File> todays_directives(History &history, const std::string &program) {
  return history.has_directives(program)
             ? todays_directives(history, program, history.runs(program))
             : std::nullopt;
}

std::optional<directives::File> todays_directives(History &history, const std::string &program,
                                                  const std::vector<database::Run> &runs,
                                                  const std::optional<std::string> &input) {
  auto file = history.directives(program);
  if (!file)
    return file;
  const auto analyses = history.analyses(program);
  const int64_t since_ns = analyses.empty() ? 0 : analyses.back().created_ns;
  const database::Judgement j = database::judge(runs, since_ns, input);
  const auto milliseconds = [](double seconds) { return fmt::format("{:.0f}", seconds * 1000); };
  if (j.base_runs) {
    file->header["base_runs"] = std::to_string(j.base_runs);
    file->header["base_ms"] = milliseconds(j.base_seconds);
    file->header["base_most_ms"] = milliseconds(j.base_most_seconds);
    if (j.base_faults)
      file->header["base_faults"] = fmt::format("{:.0f}", *j.base_faults);
    if (!j.input.empty())
      file->header["base_input"] = j.input;
  }
  auto slower = database::slower_inputs(runs, since_ns);
  std::replace(slower.begin(), slower.end(), std::string(), std::string(kUnknownInput));
  if (!slower.empty()) {
    file->header["verdict"] = "slower";
    if (slower.size() <= SMALLOC_DIRECTIVE_SLOWER_INPUTS)
      file->header[directives::kSlowerInputs] = fmt::format("{}", fmt::join(slower, ","));
  }
  return file;
}

std::string earlier_build(History &history, const std::string &path, const std::string &build_id) {
  std::error_code error;
  const std::string whole = std::filesystem::canonical(path, error).string();
  if (error)
    return {};
  for (const std::string &id : history.builds_at(whole)) // latest first
    if (id != build_id && history.has_directives(id))
      return id;
  return {};
}

std::vector<database::Program> namesakes(database::History &history, const std::string &path) {
  const auto name_of = [](const std::string &file) {
    return std::filesystem::path(file).filename();
  };
  std::vector<database::Program> found;
  for (const database::Program &p : history.programs()) // latest first
    if (p.directives && name_of(p.path) == name_of(path))
      found.push_back(p);
  return found;
}

std::string recorded_input(History &history, const Profile &profile) {
  std::string input;
  for (const TraceSummary &t : profile.traces) {
    std::string host, pid, start;
    try {
      const trace::Reader reader(t.path);
      host = reader.header().word("host");
      pid = reader.header().word("pid");
      start = reader.header().word("start");
    } catch (const trace::TraceError &) {
      return {};
    }
    const int64_t started_ns = std::strtoll(start.c_str(), nullptr, 10) * 1000000000;
    const auto runs = history.runs(t.build_id);
    const auto found = std::find_if(runs.begin(), runs.end(), [&](const database::Run &r) {
      return r.kind == "recorded" && r.host == host && std::to_string(r.pid) == pid &&
             r.started_ns == started_ns;
    });
    if (found == runs.end() || found->input.empty() || (!input.empty() && input != found->input))
      return {};
    input = found->input;
  }
  return input;
}

std::vector<database::Analysis> analyses_of_builds(History &history, const std::string &build_id,
                                                   const std::string &path) {
  std::vector<database::Analysis> analyses;
  for (const std::string &id : builds_of(history, build_id, path))
    for (database::Analysis &a : history.analyses(id))
      analyses.push_back(std::move(a));
  return analyses;
}

database::Realisation realisation_of(History &history, const std::string &build_id,
                                     const std::string &path, const std::string &machine) {
  const auto analyses = analyses_of_builds(history, build_id, path);
  std::vector<database::Run> runs;
  for (const std::string &id : builds_of(history, build_id, path))
    for (database::Run &r : history.runs(id))
      runs.push_back(std::move(r));
  const auto latest =
      std::max_element(analyses.begin(), analyses.end(), [](const auto &one, const auto &other) {
        return one.created_ns < other.created_ns;
      });
  return database::realise(analyses, runs, host_name(),
                           machine.empty() && latest != analyses.end() ? latest->machine : machine);
}

directives::File remember_analysis(History &history, const Profile &profile, double saved_seconds,
                                   const format::MachineProfile &machine,
                                   const directives::File &file) {
  const std::string &program = profile.traces.front().build_id;
  history.store_machine(this_machine(machine.name));
  directives::File stored = file;
  if (!stored.header.contains("input")) // a trace of an earlier version without its input
    if (const std::string input = recorded_input(history, profile); !input.empty())
      stored.header["input"] = input;
  const auto input = stored.header.find("input");
  history.store_analysis(analysis_of(
      profile, machine, input == stored.header.end() ? "" : input->second, saved_seconds));
  if (file.entries.empty())
    return stored;
  history.store_directives(program, profile.traces.front().program, stored);
  return todays_directives(history, program).value_or(stored);
}

std::string input_of(const std::vector<std::string> &command) {
  uint64_t signature = kFnvStart;
  for (size_t i = 1; i < command.size(); i++)
    signature = fnv1a(command[i].c_str(), command[i].size() + 1, signature);
  return fmt::format("{:016x}", signature);
}

std::string program_meant(History &history, const std::string &name) {
  if (name.find('/') != std::string::npos || access(name.c_str(), F_OK) == 0) {
    const auto bytes = read_file(name, "cannot read the program", kProgramInput);
    const std::string build_id = parse_elf(bytes, name).build_id();
    if (build_id.empty())
      throw Failure{"cannot find the program in the history", name, "it has no build-id",
                    "link it with -Wl,--build-id", kFailed};
    if (history.programs_like(build_id).empty())
      throw Failure{"cannot find the program in the history", name, "no run or analysis of it",
                    "smalloc db list", kFailed};
    return build_id;
  }
  const auto found = history.programs_like(name);
  if (found.size() == 1 && !name.empty())
    return found.front();
  throw Failure{"cannot find the program in the history", name,
                found.empty() ? "no build-id begins so"
                              : fmt::format("{} build-ids begin so", found.size()),
                "smalloc db list", kFailed};
}

} // namespace smalloc::cli
