// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// numa_top.h implements `smalloc numa top PID`. It shows the bytes of a running process on each
// node, and the nodes of its largest mappings.
#pragma once

#include "runtime/cli/output.h"

#include <string>

namespace smalloc::cli {

struct NumaTopOptions {
  long pid = 0;
  double every_seconds = 1;
  bool once = false;
  unsigned mappings = 10;
};

int numa_top(const NumaTopOptions &options, const OutputOptions &output);

} // namespace smalloc::cli
