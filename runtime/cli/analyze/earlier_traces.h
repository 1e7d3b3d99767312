// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// earlier_traces.h decides what becomes of the traces of an earlier run, whose names a new one is to have: they are put aside while the
// command runs, and only a new trace ends them.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace smalloc::cli {

// The traces that a pattern may have made: %p is any number, and processes that came second add theirs
// (NAME.PID). Written since `since` only.
std::vector<std::string> traces_of(const std::string &pattern,
                                   std::filesystem::file_time_type since);

class EarlierTraces {
public:
  EarlierTraces() = default; // nothing is aside
  EarlierTraces(const EarlierTraces &) = delete;
  EarlierTraces &operator=(const EarlierTraces &) = delete;
  // Every trace of this run has been looked at: those that have not been replaced get their names back.
  ~EarlierTraces() {
    give_back();
    unlock();
  }

  // Throws, with all of them in place, where something stands that is no trace and not ours to remove, and where another
  // smalloc record has put traces of that name aside and is not done.
  void put_aside(const std::string &pattern);
  void remove();

private:
  void give_back();
  void lock(const std::string &pattern);
  void unlock();

  std::string lock_name_; // of the file beside the traces that is locked meanwhile
  int lock_ = -1;
  std::vector<std::pair<std::string, std::string>> aside_; // the name, and the one until the end
};

} // namespace smalloc::cli
