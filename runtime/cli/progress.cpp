// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// progress.cpp draws the bar, at most every 100 ms.
#include "runtime/cli/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <unistd.h>

namespace smalloc::cli {

using Clock = std::chrono::steady_clock;

Progress::Progress(std::string what, bool quiet) : what_(std::move(what)) {
  const char *term = std::getenv("TERM");
  enabled_ = !quiet && isatty(STDERR_FILENO) && !(term && std::strcmp(term, "dumb") == 0);
}

void Progress::show(double fraction, const std::string &note) {
  const auto now = Clock::now();
  if (!enabled_ || now - start_ < std::chrono::seconds(1) ||
      now - drawn_ < std::chrono::milliseconds(100))
    return;
  drawn_ = now;
  visible_ = true;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  std::fprintf(stderr, "\r\x1b[K%s", progress_line(what_, fraction, elapsed, note).c_str());
  std::fflush(stderr);
}

void Progress::clear() {
  if (visible_)
    std::fputs("\r\x1b[K", stderr);
  visible_ = false;
}

std::string progress_line(const std::string &what, double fraction, double elapsed_seconds,
                          const std::string &note) {
  constexpr int width = 24;
  fraction = std::clamp(fraction, 0.0, 1.0);
  const int done = static_cast<int>(std::lround(fraction * width));
  std::string line =
      fmt::format("{} [{}{}] {:3.0f} %", what, std::string(static_cast<size_t>(done), '#'),
                  std::string(static_cast<size_t>(width - done), '.'), fraction * 100);
  if (fraction > 0.02)
    line += fmt::format(", {:.1f} %/s, {:.0f} s left",
                        elapsed_seconds > 0 ? fraction * 100 / elapsed_seconds : 0,
                        elapsed_seconds * (1 - fraction) / fraction);
  return note.empty() ? line : line + ", " + note;
}

} // namespace smalloc::cli
