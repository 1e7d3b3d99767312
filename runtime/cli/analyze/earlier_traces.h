// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// earlier_traces.h moves traces of an earlier run aside if the new run uses their names. They are
// deleted only when the command has written a new trace; otherwise they get their names back.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace smalloc::cli {

// Returns the traces that a pattern may have made and that were written since `since`. %p matches
// any number. Further processes append their number (NAME.PID).
std::vector<std::string> traces_of(const std::string &pattern,
                                   std::filesystem::file_time_type since);

class EarlierTraces {
public:
  EarlierTraces() = default; // nothing is moved aside
  EarlierTraces(const EarlierTraces &) = delete;
  EarlierTraces &operator=(const EarlierTraces &) = delete;
  // Gives the earlier traces that were not replaced their names back. The traces of this run must
  // have been processed before.
  ~EarlierTraces() {
    give_back();
    unlock();
  }

  // Moves the traces that match `pattern` aside. Throws, with all of them in place, if a file with
  // that name is no trace, or if another running smalloc record uses the same name.
  void put_aside(const std::string &pattern);
  void remove();

private:
  void give_back();
  void lock(const std::string &pattern);
  void unlock();

  std::string lock_name_; // locked file beside the traces
  int lock_ = -1;
  std::vector<std::pair<std::string, std::string>> aside_; // the name, and the name while moved
                                                           // aside
};

} // namespace smalloc::cli
