// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// numa_live.h decides how a command is run with migration, and how what was logged is done again.
#pragma once

#include <string>

namespace smalloc::cli {

struct NumaRunOptions {
  std::string log = "smalloc.numa.%p.log"; ///< written
  std::string from;                        ///< replayed; empty: count and decide
  bool place = false;                      ///< from the start, instead of interval by interval
  std::string source, policy, conf;
  double interval_seconds = 5;
  bool bind = false, stop = false;
};

/// Becomes the command behind "--", by way of `smalloc run`. Returns only by throwing Failure.
[[noreturn]] void numa_run(const NumaRunOptions &options);

} // namespace smalloc::cli
