// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// numa_live.h runs a command with page migration, and repeats a logged migration.
#pragma once

#include <string>

namespace smalloc::cli {

struct NumaRunOptions {
  std::string log = "smalloc.numa.%p.log"; ///< log to write
  std::string from;                        ///< log to replay; empty: count and migrate
  bool place = false;                      ///< true: place pages from the start, instead of
                                           ///< interval by interval
  std::string source, conf;
  double interval_seconds = 5;
};

/// Runs `smalloc run` with the command after "--" in place of this process. Returns only by
/// throwing Failure.
[[noreturn]] void numa_run(const NumaRunOptions &options);

} // namespace smalloc::cli
