// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// progress.h shows the progress of long work as a bar on standard error with the time left. It is
// shown only on a terminal, only after a second, and never with --quiet.
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

  // Draws the bar. `fraction`: 0 to 1 of all the work; `note`: text after the bar.
  void show(double fraction, const std::string &note = {});
  void clear();

private:
  std::string what_;
  bool enabled_;
  bool visible_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), drawn_{};
};

// Returns the line without its carriage return: "calibrating [#####.....] 50 %, 16.7 %/s, 3 s left,
// note".
std::string progress_line(const std::string &what, double fraction, double elapsed_seconds,
                          const std::string &note);

} // namespace smalloc::cli
