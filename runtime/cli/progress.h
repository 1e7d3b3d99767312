// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// progress.h decides how long work is announced: a bar on standard error with what is left, only on
// a terminal, only when it takes more than a second, never with --quiet.
#pragma once

#include <chrono>
#include <string>

namespace smalloc::cli {

class Progress {
public:
  Progress(std::string what, bool quiet);
  ~Progress() { clear(); }
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  // fraction: 0 to 1 of all the work; `note` stands behind the bar.
  void show(double fraction, const std::string &note = {});
  void clear();

private:
  std::string what_;
  bool enabled_;
  bool visible_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), drawn_{};
};

// The line without its carriage return: "calibrating [#####.....]  50 %, 16.7 %/s, 3 s left, note".
std::string progress_line(const std::string &what, double fraction, double elapsed_seconds,
                          const std::string &note);

} // namespace smalloc::cli
