// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// run_view.h decides what `smalloc diff` compares: whatever tells something of a run (a run of the history, statistics, a trace, an
// analysis) is reduced to numbers with names, of the whole and of each site.
#pragma once

#include <map>
#include <string>

namespace smalloc::cli {

struct SiteView {
  std::string name; // function and place, for people
  std::map<std::string, double> numbers;
};

struct RunView {
  std::string label, kind; // kind: the schema that it was read from
  std::string program;     // its file's name without folders; empty: unknown
  std::map<std::string, double> numbers;
  std::map<std::string, SiteView> sites; // by id
};

// name: the number of a run of the history, a trace, or a JSON document of smalloc (statistics, an analysis, a reported
// run). database: where runs are looked up. Throws Failure.
RunView view_of_run(const std::string &name, const std::string &database);

} // namespace smalloc::cli
