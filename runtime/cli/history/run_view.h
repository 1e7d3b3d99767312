// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// run_view.h reads what `smalloc diff` compares: a run of the history, statistics, a trace, or an
// analysis. Each becomes named numbers, of the whole run and of each site.
#pragma once

#include <map>
#include <string>

namespace smalloc::cli {

struct SiteView {
  std::string name; // function and place, for the user
  std::map<std::string, double> numbers;
};

struct RunView {
  std::string label, kind; // kind: the schema of the source
  std::string program;     // file name without folders; empty: unknown
  std::map<std::string, double> numbers;
  std::map<std::string, SiteView> sites; // by id
};

// Reads a run. `name`: the number of a run in the history, a trace, or a JSON document of smalloc
// (statistics, an analysis, a reported run). `database`: the history that has the runs. Throws
// Failure.
RunView view_of_run(const std::string &name, const std::string &database);

} // namespace smalloc::cli
