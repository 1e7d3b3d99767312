// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// numa_top.cpp repeats the picture until the process ends. The end of the process is no failure,
// but a process that never existed is one.
#include "runtime/cli/numa/numa_top.h"

#include "runtime/errors/diagnostics.h"
#include "runtime/numa/process_map.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <map>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace smalloc::cli {
namespace {

using Json = nlohmann::ordered_json;

// Reads the maps. Returns 0 or an errno value. A process that ended meanwhile has empty maps.
int read_maps(long pid, std::string &text) {
  const std::string path = fmt::format("/proc/{}/numa_maps", pid);
  std::unique_ptr<FILE, int (*)(FILE *)> file(std::fopen(path.c_str(), "re"), std::fclose);
  if (!file)
    return errno;
  char buffer[65536];
  for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, file.get())) > 0;)
    text.append(buffer, n);
  return 0;
}

std::string memory_text(uint64_t bytes) {
  return bytes < (uint64_t{1} << 20)
             ? fmt::format("{} KiB", bytes >> 10)
             : fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

Json picture(long pid, const std::string &text, unsigned most) {
  auto maps = numa::parse_numa_maps(text);
  std::map<unsigned, uint64_t> on;
  uint64_t total = 0;
  for (const auto &m : maps)
    for (auto [node, bytes] : m.bytes_on) {
      on[node] += bytes;
      total += bytes;
    }
  std::stable_sort(maps.begin(), maps.end(),
                   [](const auto &a, const auto &b) { return a.bytes() > b.bytes(); });
  Json nodes = Json::array(), mappings = Json::array();
  for (auto [node, bytes] : on)
    nodes.push_back(
        Json{{"id", node},
             {"resident_bytes", bytes},
             {"share", total ? static_cast<double>(bytes) / static_cast<double>(total) : 0.0}});
  for (const auto &m : maps) {
    if (mappings.size() == most || m.bytes() == 0)
      break;
    Json lies = Json::array();
    for (auto [node, bytes] : m.bytes_on)
      lies.push_back(Json{{"id", node}, {"resident_bytes", bytes}});
    mappings.push_back(Json{{"start", fmt::format("{:x}", m.start)},
                            {"what", m.what.empty() ? "anonymous" : m.what},
                            {"policy", m.policy},
                            {"resident_bytes", m.bytes()},
                            {"nodes", lies}});
  }
  return Json{{"schema", "smalloc.numa.top/1"},
              {"pid", pid},
              {"nodes", nodes},
              {"mappings", mappings},
              {"totals", Json{{"resident_bytes", total}, {"nodes", on.size()}}}};
}

std::string picture_text(const Json &d, Colour colour) {
  Table nodes({"NODE", "RESIDENT", "SHARE", ""});
  for (const Json &n : d["nodes"]) {
    const double share = n["share"];
    std::string bar;
    for (int i = 0; i < static_cast<int>(share * 40 + 0.5); i++)
      bar += "█";
    nodes.add_row({{n["id"].dump(), Style::kBold},
                   {memory_text(n["resident_bytes"])},
                   {fmt::format("{:.1f} %", share * 100)},
                   {bar}});
  }
  Table maps({"MAPPING", "RESIDENT", "POLICY", "ON NODES", "WHAT"});
  for (const Json &m : d["mappings"]) {
    std::string lies;
    for (const Json &n : m["nodes"])
      lies += fmt::format("{}{}: {}", lies.empty() ? "" : ", ", n["id"].get<unsigned>(),
                          memory_text(n["resident_bytes"]));
    maps.add_row({{m["start"].get<std::string>()},
                  {memory_text(m["resident_bytes"])},
                  {printable(m["policy"].get<std::string>())},
                  {lies},
                  {printable(m["what"].get<std::string>())}});
  }
  return fmt::format("process {}\n\n", d["pid"].get<long>()) + nodes.print(colour) + "\n" +
         maps.print(colour);
}

} // namespace

int numa_top(const NumaTopOptions &o, const OutputOptions &output) {
  const auto thresholds = parse_thresholds(output);
  const unsigned count =
      o.once || output.json || !output.file.empty() ? 1 : 0; // 0: until the process ends
  int status = kDone;
  for (unsigned i = 0; count == 0 || i < count; i++) {
    if (i > 0) {
      const timespec pause = {
          static_cast<time_t>(o.every_seconds),
          static_cast<long>(
              (o.every_seconds - static_cast<double>(static_cast<time_t>(o.every_seconds))) * 1e9)};
      nanosleep(&pause, nullptr);
    }
    std::string text;
    const int error = read_maps(o.pid, text);
    if (i > 0 && (error == ENOENT || error == ESRCH || text.empty())) {
      print_note(fmt::format("process {} has ended", o.pid));
      break;
    }
    if (error || text.empty())
      throw Failure{"cannot read the process", std::to_string(o.pid),
                    error == ENOENT ? "there is no such process, or the kernel has no NUMA support"
                    : error         ? error_text(error)
                                    : "it has no memory of its own, or belongs to another user",
                    "ps -o pid,user,comm", kFailed};
    const Json document = picture(o.pid, text, o.mappings);
    if (count != 1 && isatty(STDOUT_FILENO))
      std::fputs("\033[H\033[2J", stdout);
    status = finish(output, thresholds, document,
                    [&](Colour colour) { return picture_text(document, colour); });
    std::fflush(stdout);
    if (status != kDone)
      break;
  }
  return status;
}

} // namespace smalloc::cli
