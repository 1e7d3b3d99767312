// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// study_setup.h defines the page-size configurations: the library, the settings, and whether this
// system has such pages.
#pragma once

#include "runtime/study/runner.h"

#include <string>
#include <vector>

namespace smalloc::cli {

struct StudySetup {
  std::string name;
  std::string conf;         // SMALLOC_CONF
  bool with_library = true; // false: the program as it is
  bool without_thp = false;
};

// Returns the configurations. `wanted` empty: base, thp, auto, and the pools and sizes that have
// pages; `skipped` gets the others, with reasons. `extra`: NAME=SMALLOC_CONF. Throws Failure for an
// unknown name, and for a wanted configuration that is impossible.
std::vector<StudySetup> study_setups(const std::vector<std::string> &wanted,
                                     const std::vector<std::string> &extra,
                                     std::vector<std::string> &skipped);

// Returns the path of libsmalloc.so for preloading. Warns if superpages cannot reach the program.
std::string study_library(const std::string &command);

study::RunPlan study_plan(const StudySetup &setup, const std::vector<std::string> &command,
                          const std::string &library);

} // namespace smalloc::cli
