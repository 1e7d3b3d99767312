// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// record_source.cpp prefers a program that records its accesses over samples, since it omits no
// access.
#include "runtime/cli/analyze/record_source.h"

#include "runtime/errors/diagnostics.h"
#include "runtime/trace/sampled_event.h"

#include <fmt/format.h>
#include <linux/perf_event.h>

namespace smalloc::cli {
namespace {

// kMissPeriod counts TLB misses: a program that spends a tenth of its time in walks has about ten
// million a second, which makes ten thousand samples. kOperationPeriod counts operations (IBS,
// SPE): they are a hundred times as frequent, and most samples are of no use.
constexpr uint64_t kMissPeriod = 1009, kOperationPeriod = 65536;

std::string setting_of(trace::SampleKind kind, const pmu::EventCode &code, unsigned precise,
                       uint64_t period) {
  return fmt::format(",event:{}/{:x}/{:x}/{:x}/{:x}/{:x}",
                     trace::kSampleKinds[static_cast<size_t>(kind)], code.type, code.config,
                     code.config1, precise, period);
}

trace::SampleKind kind_of(pmu::AddressEvent::Kind kind) {
  switch (kind) {
  case pmu::AddressEvent::Kind::kIbs:
    return trace::SampleKind::kIbs;
  case pmu::AddressEvent::Kind::kSpe:
    return trace::SampleKind::kSpe;
  default:
    return trace::SampleKind::kMisses;
  }
}

} // namespace

RecordSource choose_source(const std::string &wanted, uint64_t period, bool tells_accesses,
                           const pmu::AddressProbe &probe) {
  RecordSource source;
  if (wanted == "instrumented" || (wanted.empty() && tells_accesses))
    return source;
  if (wanted == "faults") {
    const pmu::EventCode code = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0, 0, "faults"};
    source.setting = setting_of(trace::SampleKind::kFaults, code, 0, 1);
    return source;
  }
  const pmu::FoundEvent found = pmu::find_address_event(probe, period ? period : kMissPeriod);
  if (!found.event && wanted == "pmu")
    throw Failure{"cannot record from the PMU", "--source pmu", found.obstacle,
                  "smalloc record --source auto takes what there is", kRunFailed};
  const std::string instead = tells_accesses ? "the program records its data accesses itself"
                                             : "no data accesses are recorded (compile with "
                                               "-fplugin-arg-smalloc-profile-generate)";
  if (!found.event) {
    source.note = fmt::format("{}; {}", found.obstacle, instead);
    return source;
  }
  if (wanted != "pmu" && tells_accesses) {
    source.note = instead;
    return source;
  }
  const pmu::AddressEvent &event = *found.event;
  uint64_t every = period                                           ? period
                   : event.kind == pmu::AddressEvent::Kind::kMisses ? kMissPeriod
                                                                    : kOperationPeriod;
  every = (every + event.period_step - 1) / event.period_step * event.period_step;
  source.setting = setting_of(kind_of(event.kind), event.code, event.precise, every);
  source.note = fmt::format("accesses that miss the TLB are sampled: one of {} of {}", every,
                            event.code.name);
  return source;
}

} // namespace smalloc::cli
