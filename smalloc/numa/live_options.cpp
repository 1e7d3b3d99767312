// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// live_options.cpp parses each NUMA key of SMALLOC_CONF.
#include "smalloc/numa/live_options.h"
#include "smalloc/base/conf_keys.h"
#include "smalloc/base/numbers.h"

namespace smalloc::numa {
namespace {

bool set_between(Text v, uint64_t least, uint64_t most, unsigned &out) {
  uint64_t n;
  if (!parse_number(v, n) || n < least || n > most)
    return false;
  out = static_cast<unsigned>(n);
  return true;
}
/// Parses seconds with up to three decimals, such as "5" or "0.25".
bool set_interval(Text v, LiveOptions &o) {
  constexpr uint64_t kLeastMs = 100, kMostMs = 50000;
  size_t point = 0;
  while (point < v.size && v.data[point] != '.')
    point++;
  uint64_t whole, ms = 0;
  if (!parse_number(Text(v.data, point), whole) || whole > kMostMs)
    return false;
  if (point < v.size) {
    const Text fraction(v.data + point + 1, v.size - point - 1);
    if (fraction.size > 3 || !parse_number(fraction, ms))
      return false;
    for (size_t digits = fraction.size; digits < 3; digits++)
      ms *= 10;
  }
  ms += whole * 1000;
  if (ms < kLeastMs || ms > kMostMs)
    return false;
  o.interval_ms = static_cast<unsigned>(ms);
  return true;
}
bool set_mode(Text v, LiveOptions &o) {
  static const char *const kNames[] = {"off", "hints", "migrate", "place"};
  if (!parse_choice(v.is("false") ? Text("off") : v, kNames, o.mode))
    return false;
  o.mode_given = true;
  return true;
}
bool set_source(Text v, LiveOptions &o) {
  static const char *const kNames[] = {"auto", "pmu", "clock", "faults", "instrumented"};
  return parse_choice(v, kNames, o.source);
}

constexpr uint64_t kMostBytes = uint64_t{64} << 40;
constexpr char kPath[] = "a path of 1 to 255 bytes";
constexpr char kSize[] = "0 to 64t, such as 256m";

} // namespace

const LiveKey kLiveKeys[] = {
    {"numa", set_mode, "off, hints, migrate or place"},
    {"numa_source", set_source, "auto, pmu, clock, faults or instrumented"},
    {"numa_interval", set_interval, "seconds, 0.1 to 50"},
    {"numa_sample",
     [](Text v, LiveOptions &o) { return set_between(v, 1, 1u << 24, o.sample_period); },
     "accesses, 1 to 16777216"},
    {"numa_reserve",
     [](Text v, LiveOptions &o) { return parse_bytes_between(v, 0, kMostBytes, o.reserve_bytes); },
     kSize},
    {"numa_log", [](Text v, LiveOptions &o) { return parse_name(v, o.log); }, kPath},
    {"numa_replay", [](Text v, LiveOptions &o) { return parse_name(v, o.replay); }, kPath},
};
const size_t kLiveKeyCount = sizeof kLiveKeys / sizeof *kLiveKeys;

void parse_live_options(Text conf, LiveOptions &options) {
  for_each_key(conf, [&](Text, Text key, Text value) {
    for (const LiveKey &k : kLiveKeys)
      if (key.is(k.name))
        k.set(value, options);
  });
}

} // namespace smalloc::numa
