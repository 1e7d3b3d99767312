// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// analyze_directives.cpp gives each steerable site of a ranking its directive. A cluster has one
// for each of its sites, of the page size that is best for the whole.
#include "runtime/cli/analyze/analyze_report.h"

#include "runtime/cli/sites/site_report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace smalloc::cli {

directives::File analyze_directives(const ProfileOptions &options, const Profile &p,
                                    const Expectation &expected,
                                    const format::MachineProfile &machine) {
  directives::File file;
  file.header["machine"] = machine.name;
  const double runs = p.runs();
  double seconds = p.run_seconds(), faults_saved = 0;
  for (const RankedMapping &m : p.mappings)
    if (m.mapping.chosen && m.steerable)
      faults_saved += m.page_faults_base - m.result().page_faults;
  if (options.seconds > 0)
    seconds = options.seconds * runs;
  file.header["seconds"] = fmt::format("{:.3f}", seconds / runs);
  file.header["faults_saved"] = fmt::format("{:.0f}", std::max(faults_saved, 0.0) / runs);
  file.header["saved_ms"] = fmt::format("{:.0f}", std::max(expected.seconds(), 0.0) * 1000);
  if (!p.traces.empty() && !p.traces.front().build_id.empty())
    file.header["program"] = p.traces.front().build_id;
  for (const RankedMapping &m : p.mappings) {
    if (!m.steerable || m.undecided())
      continue; // neither the compiler nor the allocator can move it, or the compiler's decision is
                // as good
    const auto add = [&](uint64_t id, uint64_t superpages, std::string comment) {
      directives::Entry entry;
      entry.page_shift = page_shift(m.mapping.chosen ? m.result().page : benefit::PageSize::kBase);
      entry.superpages = superpages; // of 2 MiB for any page size: the unit that the agent counts
      entry.pmb_percent = std::round(m.mapping.pmb_percent * 10) / 10;
      entry.comment = std::move(comment);
      file.entries[{id, m.context != 0, m.context}] = entry;
    };
    const auto words_of = [](const std::string &function, const std::string &path, unsigned line) {
      return line ? fmt::format("{} {}:{}", readable_function(function), path, line)
                  : readable_function(function);
    };
    for (const ClusterMember &member : m.members)
      add(member.id, (member.heap_bytes + benefit::kSuperpageBytes - 1) / benefit::kSuperpageBytes,
          words_of(member.function, member.file, member.line));
    if (m.members.empty())
      add(m.id, m.mapping.superpages,
          words_of(m.function, m.file, m.line) +
              (m.context ? " in " + m.chain.substr(0, m.chain.find('\n')) : ""));
  }
  directives::give_ranks(file);
  return file;
}

} // namespace smalloc::cli
