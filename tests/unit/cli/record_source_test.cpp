// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cli/analyze/record_source.h"
#include "runtime/errors/diagnostics.h"
#include "runtime/trace/sampled_event.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace smalloc::cli {
namespace {

// Returns a machine with AMD's IBS, or without.
pmu::AddressProbe probe(bool ibs, int error = 0) {
  return {[error](const pmu::AddressEvent &event, uint64_t) {
            return event.kind == pmu::AddressEvent::Kind::kIbs ? error : ENOENT;
          },
          [ibs](const std::string &path) -> std::optional<std::string> {
            if (ibs && path.find("ibs_op") != std::string::npos)
              return "11\n";
            return std::nullopt;
          }};
}

trace::SampledEvent event_of(const RecordSource &source) {
  trace::SampledEvent event = {};
  EXPECT_TRUE(source.setting.starts_with(",event:")) << source.setting;
  EXPECT_TRUE(trace::parse_event(source.setting.c_str() + 7, event)) << source.setting;
  return event;
}

TEST(RecordSource, ThePmuWhereItWorks) {
  for (const char *wanted : {"", "auto", "pmu"}) {
    const RecordSource source = choose_source(wanted, 0, false, probe(true));
    const trace::SampledEvent event = event_of(source);
    EXPECT_EQ(event.kind, trace::SampleKind::kIbs);
    EXPECT_EQ(event.type, 11u);
    EXPECT_EQ(event.period % 16, 0u);
    EXPECT_NE(source.note.find("ibs_op"), std::string::npos);
  }
  EXPECT_EQ(event_of(choose_source("pmu", 1000, false, probe(true))).period, 1008u);
  EXPECT_EQ(event_of(choose_source("pmu", 0, true, probe(true))).kind, trace::SampleKind::kIbs);
}

TEST(RecordSource, TheProgramWhereItTells) {
  EXPECT_TRUE(choose_source("", 0, true, probe(true)).setting.empty());
  EXPECT_TRUE(choose_source("", 0, true, probe(false)).note.empty());
  EXPECT_TRUE(choose_source("auto", 0, true, probe(true)).setting.empty());
  EXPECT_FALSE(choose_source("auto", 0, true, probe(false)).note.empty());
  EXPECT_TRUE(choose_source("instrumented", 0, false, probe(true)).setting.empty());
}

TEST(RecordSource, WithoutAPmuItIsSaidOnceOrAnError) {
  const RecordSource source = choose_source("auto", 0, false, probe(false));
  EXPECT_TRUE(source.setting.empty());
  EXPECT_TRUE(source.note.starts_with("this machine has no PMU that reports data addresses; "))
      << source.note;
  EXPECT_EQ(source.note.find('\n'), std::string::npos);
  EXPECT_THROW(choose_source("pmu", 0, false, probe(false)), Failure);
  try {
    choose_source("pmu", 0, true, probe(true, EACCES));
    FAIL();
  } catch (const Failure &failure) {
    EXPECT_NE(failure.why.find("perf_event_paranoid"), std::string::npos);
    EXPECT_EQ(failure.status, kRunFailed);
  }
}

TEST(RecordSource, FaultsAreThereEverywhere) {
  const trace::SampledEvent event = event_of(choose_source("faults", 0, true, probe(false)));
  EXPECT_EQ(event.kind, trace::SampleKind::kFaults);
  EXPECT_EQ(event.period, 1u);
}

} // namespace
} // namespace smalloc::cli
