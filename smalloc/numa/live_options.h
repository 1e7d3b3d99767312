// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// live_options.h declares the NUMA keys of SMALLOC_CONF: whether objects get their node at first
// touch, whether pages migrate while the program runs, and how. libsmalloc reads these keys to warn
// about unknown ones and to load libsmalloc_feedback.so; that library reads them to do the work.
#ifndef SMALLOC_NUMA_LIVE_OPTIONS_H
#define SMALLOC_NUMA_LIVE_OPTIONS_H

#include "smalloc/base/text.h"

namespace smalloc::numa {

/// From kMigrate on, libsmalloc_feedback.so moves pages.
enum class NumaMode : uint8_t { kOff, kHints, kMigrate, kPlace };

/// Source that reports which thread uses which page (docs/numa.md, "Sources").
enum class CountSource : uint8_t { kAuto, kPmu, kClock, kFaults, kInstrumented };

struct LiveOptions {
  /// numa:off|hints|migrate|place; migrate and place include hints. place: each page lies from the
  /// start where the log of numa_replay left it (the paper's static mode). If not given, hints of
  /// the compiler or of a directives file are followed, and nothing migrates.
  NumaMode mode = NumaMode::kOff;
  bool mode_given = false;
  /// numa_source:auto|pmu|clock|faults|instrumented. auto: the first of pmu, clock, faults that
  /// this machine has, and in addition what an instrumented program reports.
  CountSource source = CountSource::kAuto;
  /// numa_interval:5 seconds, 0.1 to 50, between two rounds of moves. The paper
  /// (migration_policy.h) ran 1 to 50 with 5 as a fair middle. A shorter interval reacts faster and
  /// sees fewer samples per page.
  unsigned interval_ms = 5000;
  /// numa_sample:1024: every N-th access, for sources that count accesses. The paper's Table 1: the
  /// error is 0.02 with 256 and more, and up to 0.11 with fewer.
  unsigned sample_period = 1024;
  /// numa_reserve:64m: memory that stays free on a target node.
  uint64_t reserve_bytes = uint64_t{64} << 20;
  /// numa_log:FILE: records every move of every interval (docs/internals/numa.md, "Log").
  /// numa_replay:FILE: carries out the moves of a log instead of counting.
  char log[256] = "", replay[256] = "";
};

struct LiveKey {
  const char *name;
  bool (*set)(Text value, LiveOptions &options);
  const char *values; ///< valid values, for a warning about a bad one
};
extern const LiveKey kLiveKeys[];
extern const size_t kLiveKeyCount;

/// Parses all NUMA keys of a whole SMALLOC_CONF. Skips other keys and bad values.
void parse_live_options(Text conf, LiveOptions &options);

} // namespace smalloc::numa
#endif
