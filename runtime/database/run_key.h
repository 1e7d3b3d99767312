// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// run_key.h identifies a run across histories: by program, host, process and start.
#pragma once

#include "runtime/database/records.h"

#include <cstdint>
#include <string>
#include <tuple>

namespace smalloc::database {

using RunKey = std::tuple<std::string, std::string, int64_t, int64_t>;

inline RunKey run_key(const std::string &program, const std::string &host, int64_t pid,
                      int64_t started_ns) {
  return {program, host.c_str(), pid, started_ns}; // PostgreSQL's text ends at a zero byte
}
inline RunKey run_key(const Run &run) {
  return run_key(run.program, run.host, run.pid, run.started_ns);
}

} // namespace smalloc::database
