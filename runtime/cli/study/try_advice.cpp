// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// try_advice.cpp has the thresholds and the wording of the advice.
#include "runtime/cli/study/try_advice.h"

#include "runtime/cli/sites/site_report.h"
#include "runtime/study/statistics.h"

#include <fmt/format.h>

namespace smalloc::cli {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
// Second-level TLBs of today hold 1,536 to 4,096 entries: 6 to 16 MiB of base pages.
constexpr uint64_t kTlbReach = 16 * kMiB;
// Static data and text below this fit beside the heap in the TLB.
constexpr uint64_t kWorthTrying = 8 * kMiB;
constexpr double kMoreMemory = 1.05; // growth that the advice speaks of

bool mostly_superpages(const TryFacts &facts) {
  return 2 * facts.heap_superpage_bytes >= facts.heap_bytes;
}

std::string share_text(const TryFacts &facts) {
  return fmt::format("superpages hold {} of {}", readable_bytes(facts.heap_superpage_bytes),
                     readable_bytes(facts.heap_bytes));
}

bool grows(const study::PairedChange &memory) {
  return memory.clear && memory.after > kMoreMemory * memory.before &&
         memory.after - memory.before > static_cast<double>(8 * kMiB);
}

std::vector<std::string> steps_if_faster(const TryFacts &facts, const std::string &command,
                                         const std::string &compile) {
  std::vector<std::string> steps = {fmt::format("smalloc run -- {}", command)};
  if (grows(facts.memory))
    steps.push_back(fmt::format("smalloc run --budget 10% -- {}   # bounds the memory", command));
  else if (!facts.has_sites)
    steps.push_back(
        fmt::format("{}   # recompile: the plugin chooses the page size of each site", compile));
  return steps;
}

std::string step_if_same(const TryFacts &facts, const std::string &command,
                         const std::string &compile) {
  // A run of some milliseconds ends before its heap is looked at.
  const uint64_t heap =
      facts.heap_bytes ? facts.heap_bytes : static_cast<uint64_t>(facts.memory.after);
  if (heap < kTlbReach)
    return fmt::format("nothing: the heap of {} is too small for superpages to matter",
                       readable_bytes(heap));
  if (facts.cpu.high / facts.cpu.low > kWideInterval)
    return fmt::format("smalloc try --rounds {} -- {}   # the runs differ too much to tell",
                       3 * facts.cpu.pairs, command);
  if (mostly_superpages(facts))
    return fmt::format("nothing: {}, and that saves no measurable time", share_text(facts));
  if (!facts.has_sites)
    return fmt::format("{}   # recompile: {}; the plugin sees which objects are filled", compile,
                       share_text(facts));
  return fmt::format("smalloc record -- {}   # a profile: {}", command, share_text(facts));
}

} // namespace

TryResult try_result(const TryFacts &facts) {
  if (facts.cpu.pairs < study::kFewestRuns)
    return TryResult::kUnknown;
  if (!facts.cpu.clear)
    return TryResult::kSame;
  return facts.cpu.ratio > 1 ? TryResult::kFaster : TryResult::kSlower;
}

const char *try_result_name(TryResult result) {
  switch (result) {
  case TryResult::kUnknown:
    return "unknown";
  case TryResult::kFaster:
    return "faster";
  case TryResult::kSlower:
    return "slower";
  case TryResult::kSame:
    break;
  }
  return "same";
}

std::vector<PageProposal> page_proposals(const TryFacts &facts) {
  std::vector<PageProposal> proposals;
  if (facts.system_has_1g && facts.heap_bytes >= 1024 * kMiB)
    proposals.push_back({"1g", "1 GiB pages for a heap of " + readable_bytes(facts.heap_bytes)});
  if (facts.system_has_64k && facts.heap_bytes >= kTlbReach / 4 && !mostly_superpages(facts))
    proposals.push_back({"64k", "64 KiB pages for " +
                                    readable_bytes(facts.heap_bytes - facts.heap_superpage_bytes) +
                                    " on base pages"});
  if (facts.static_base_bytes >= kWorthTrying)
    proposals.push_back(
        {"static", "2 MiB pages for static data of " + readable_bytes(facts.static_base_bytes)});
  if (facts.text_base_bytes >= kWorthTrying)
    proposals.push_back(
        {"text", "2 MiB pages for program text of " + readable_bytes(facts.text_base_bytes)});
  return proposals;
}

std::vector<std::string> next_steps(const TryFacts &facts, const std::string &command,
                                    const std::string &compile) {
  switch (try_result(facts)) {
  case TryResult::kUnknown:
    return {fmt::format("smalloc try -- {}   # three pairs of runs, enough for a claim", command)};
  case TryResult::kFaster:
    return steps_if_faster(facts, command, compile);
  case TryResult::kSlower:
    return {
        "nothing: keep the program's malloc; smalloc doctor shows what first touches cost here"};
  case TryResult::kSame:
    break;
  }
  return {step_if_same(facts, command, compile)};
}

} // namespace smalloc::cli
