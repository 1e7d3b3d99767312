// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// merge.cpp merges two histories. Runs and analyses have keys, so that each is stored once. The
// directives of the later analysis hold, and the result of a run for a site counts whichever
// history has the run, unless it was pruned there.
#include "runtime/database/history.h"
#include "runtime/database/run_key.h"

#include <algorithm>
#include <set>

namespace smalloc::database {
namespace {

// Returns the keys of the stored runs and of the pruned ones.
std::set<RunKey> keys_of(const std::vector<Run> &runs, const std::vector<Run> &forgotten) {
  std::set<RunKey> keys;
  for (const auto *list : {&runs, &forgotten})
    for (const Run &run : *list)
      keys.insert(run_key(run));
  return keys;
}

int64_t latest_analysis(const std::vector<Analysis> &analyses, const std::string &program) {
  int64_t latest = 0;
  for (const Analysis &a : analyses)
    if (a.program == program)
      latest = std::max(latest, a.created_ns);
  return latest;
}

// Adds the results of the program's runs that the file's counts do not include yet.
void count_runs(directives::File &file, const std::string &program, const std::vector<Run> &runs,
                const std::set<RunKey> &counted) {
  for (const Run &run : runs) {
    if (run.program != program || counted.contains(run_key(run)))
      continue;
    for (const Validation &v : run.validations) {
      const auto at = file.entries.find(key_of_directive(v.site, v.context));
      if (at == file.entries.end() || at->second.page_shift <= 12 ||
          (v.verdict != "held" && v.verdict != "failed"))
        continue;
      at->second.validated++;
      at->second.held += v.verdict == "held";
    }
  }
}

} // namespace

void History::merge(History &other) {
  const auto their_programs = other.programs();
  const auto their_machines = other.machines();
  const auto their_runs = other.runs("");
  const auto their_forgotten = other.forgotten_runs();
  const auto their_analyses = other.analyses("");
  Transaction transaction(*connection_);
  const auto our_runs = runs("");
  const auto our_analyses = analyses("");
  const auto ours_known = keys_of(our_runs, forgotten_runs()),
             theirs_known = keys_of(their_runs, their_forgotten);
  for (const Machine &machine : their_machines)
    store_machine(machine);
  see_programs(their_programs);
  for (const Program &program : their_programs) {
    const std::string &id = program.build_id;
    auto theirs = other.directives(id), ours = directives(id);
    if (theirs)
      count_runs(*theirs, id, our_runs, theirs_known);
    if (ours)
      count_runs(*ours, id, their_runs, ours_known);
    if (!theirs && !ours)
      continue;
    const bool later = !ours || (theirs && latest_analysis(their_analyses, id) >
                                               latest_analysis(our_analyses, id));
    directives::File merged = later ? *theirs : *ours;
    if (const auto &rest = later ? ours : theirs)
      merged.entries.insert(rest->entries.begin(), rest->entries.end());
    directives::give_ranks(merged);
    insert_directives(id, merged, Counts::kOfFile);
  }
  std::vector<Run> fresh;
  for (const Run &run : their_runs)
    if (!ours_known.contains(run_key(run)))
      fresh.push_back(run);
  insert_runs(fresh, Counts::kOfFile);
  // The results of these runs are in the counts of the other history's directives. Remembered here,
  // the runs are not counted again if another history brings them.
  for (const Run &run : their_forgotten)
    insert_forgotten(run);
  for (const Analysis &analysis : their_analyses)
    if (std::none_of(our_analyses.begin(), our_analyses.end(), [&](const Analysis &a) {
          return a.program == analysis.program && a.created_ns == analysis.created_ns;
        }))
      insert_analysis(analysis);
  transaction.commit();
}

} // namespace smalloc::database
