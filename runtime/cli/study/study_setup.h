// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// study_setup.h decides what a page-size configuration means: which library, which settings, and
// whether this system has such pages.
#pragma once

#include "runtime/study/runner.h"

#include <string>
#include <vector>

namespace smalloc::cli {

struct StudySetup {
  std::string name;
  std::string conf;         // SMALLOC_CONF
  bool with_library = true; // else the program as it is
  bool without_thp = false;
};

// `wanted` empty: base, thp, auto, and the pools and sizes that have pages; what is left out is
// named in `skipped`. `extra`: NAME=SMALLOC_CONF. Throws Failure for a name that is none, and for
// one that was asked for and cannot be had.
std::vector<StudySetup> study_setups(const std::vector<std::string> &wanted,
                                     const std::vector<std::string> &extra,
                                     std::vector<std::string> &skipped);

// The path of libsmalloc.so, to be preloaded. Warns when superpages
// cannot reach the program.
std::string study_library(const std::string &command);

study::RunPlan study_plan(const StudySetup &setup, const std::vector<std::string> &command,
                          const std::string &library);

} // namespace smalloc::cli
