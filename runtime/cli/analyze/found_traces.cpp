// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// found_traces.cpp tells traces apart by their headers: when the process began, on which host, and
// whether it still runs.
#include "runtime/cli/analyze/found_traces.h"

#include "runtime/cli/analyze/earlier_traces.h"
#include "runtime/cli/history/history_store.h"
#include "runtime/trace/reader.h"
#include "smalloc/process/process_identity.h"

#include <cstdlib>

namespace smalloc::cli {
namespace {

namespace fs = std::filesystem;

enum class Found {
  kEarlier, // of another command's process, which began before
  kTrace,
  // Only a header: the process executed another program at once, or was killed before its first
  // buffer was full.
  kEmpty,
  // Of a process that still runs: left behind by the command, or another command's with that name.
  kRunning
};
Found look_at(const std::string &path, uint64_t began_ns) {
  try {
    const trace::Reader reader(path);
    if (const uint64_t start_ns =
            std::strtoull(reader.header().word("start_ns").c_str(), nullptr, 10);
        start_ns && start_ns < began_ns)
      return Found::kEarlier;
    if (reader.header().word("host") == host_name() &&
        is_alive(std::strtoull(reader.header().word("pid").c_str(), nullptr, 10),
                 std::strtoull(reader.header().word("start_ticks").c_str(), nullptr, 10)))
      return Found::kRunning;
    return reader.chunks() <= 1 ? Found::kEmpty : Found::kTrace;
  } catch (const trace::TraceError &) {
    std::error_code error;
    return fs::file_size(path, error) == 0 && !error ? Found::kEmpty : Found::kTrace;
  }
}

bool is_forked(const std::string &path) {
  try {
    return trace::Reader::header_of(path).contains("parent_start_ns");
  } catch (const trace::TraceError &) {
    return false;
  }
}

} // namespace

FoundTraces find_traces(const std::string &pattern, fs::file_time_type start, uint64_t began_ns) {
  FoundTraces found;
  for (const std::string &path : traces_of(pattern, start)) {
    std::error_code error;
    if (!fs::is_regular_file(path, error))
      continue;
    switch (look_at(path, began_ns)) {
    case Found::kEarlier:
      break;
    case Found::kEmpty:
      fs::remove(path, error);
      break;
    case Found::kRunning:
      found.running++;
      found.running_children += is_forked(path);
      break;
    case Found::kTrace:
      found.traces.push_back(path);
    }
  }
  return found;
}

} // namespace smalloc::cli
