// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// study_report.h prints a study as table, JSON document, CSV and picture, all from the same
// results.
#pragma once

#include "runtime/cli/table.h"
#include "runtime/pmu/cpi_stack.h"
#include "runtime/study/runner.h"
#include "runtime/study/statistics.h"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace smalloc::cli {

enum class StudyMetric { kCpu, kUser, kWall };
double metric_seconds(StudyMetric metric, const study::RunResult &run);
const char *metric_name(StudyMetric metric);

struct StudyResult {
  std::string configuration;
  std::vector<study::RunResult> runs;
};

struct StudiedCommand {
  std::string name;
  std::vector<std::string> command;
  std::vector<StudyResult> results; // the first is the base of comparisons
};

struct Study {
  StudyMetric metric = StudyMetric::kCpu;
  std::vector<std::string> configurations;
  std::vector<std::string> skipped; // "hugetlb: the pool has no free page"
  std::vector<StudiedCommand> commands;
  std::string no_events; // why nothing was counted; empty: it was
  pmu::CpiCosts costs;   // for estimated parts of the CPI stack
};

nlohmann::ordered_json study_document(const Study &study);
std::string study_table(const nlohmann::ordered_json &document, Colour colour);
// Returns one line per run.
std::string study_csv(const Study &study);
std::string study_svg(const nlohmann::ordered_json &document);

} // namespace smalloc::cli
