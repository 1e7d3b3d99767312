// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// live_options.h decides what may be set in SMALLOC_CONF about NUMA: whether objects get their node at first touch, whether
// pages migrate while the program runs, and how. libsmalloc reads these keys to warn about what it does not
// understand and to load libsmalloc_feedback.so; that library reads them to do the work.
#ifndef SMALLOC_NUMA_LIVE_OPTIONS_H
#define SMALLOC_NUMA_LIVE_OPTIONS_H

#include "smalloc/base/text.h"

namespace smalloc::numa {

enum class NumaMode : uint8_t { kOff, kHints, kMigrate };

/// Who says which thread uses which page (docs/numa.md, "Sources").
enum class CountSource : uint8_t { kAuto, kPmu, kClock, kFaults, kInstrumented };

struct LiveOptions {
  /// numa:off|hints|migrate. migrate includes hints. Not given: hints that somebody has compiled in or written into a directives
  /// file are followed, nothing migrates.
  NumaMode mode = NumaMode::kOff;
  bool mode_given = false;
  /// numa_source:auto|pmu|clock|faults|instrumented. auto: the first of pmu, clock, faults that this machine has, and
  /// what an instrumented program tells besides.
  CountSource source = CountSource::kAuto;
  /// numa_interval:5 seconds, 0.1 to 50, between two rounds of moves. The paper ran 1 to 50 with 5 as a fair middle: shorter
  /// reacts faster and sees fewer samples a page.
  unsigned interval_ms = 5000;
  /// numa_sample:1024: every N-th access, where accesses are counted. The paper's Table 1: the error grows from 0.02 to
  /// 0.11 below 256.
  unsigned sample_period = 1024;
  /// numa_clock:1000 microseconds of processor time between two samples of the clock source. One costs about 2.
  unsigned clock_us = 1000;
  /// numa_policy:ours|paper.
  bool paper_policy = false;
  /// numa_bind:on: threads are bound to nodes round robin, as the paper's experiments did.
  bool bind_threads = false;
  /// numa_stop:on: threads are stopped while pages move, as in the paper. The kernel does not need it.
  bool stop_threads = false;
  /// numa_rate:1g: most bytes moved an interval. 0: no limit.
  uint64_t rate_bytes = 0;
  /// numa_reserve:64m: what stays free on a target.
  uint64_t reserve_bytes = uint64_t{64} << 20;
  /// numa_log:FILE: every move of every interval (docs/numa.md, "Log"). numa_replay:FILE: the moves of such a log instead of
  /// counting. numa_place:FILE: each page goes where the log left it, from the start (the paper's static mode).
  char log[256] = "", replay[256] = "", place[256] = "";
};

struct LiveKey {
  const char *name;
  bool (*set)(Text value, LiveOptions &options);
  const char *values; ///< what a warning about a bad value names
};
extern const LiveKey kLiveKeys[];
extern const size_t kLiveKeyCount;

/// All NUMA keys of a whole SMALLOC_CONF; others, and bad values, are passed over.
void parse_live_options(Text conf, LiveOptions &options);

} // namespace smalloc::numa
#endif
