// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// access_sources.cpp tries the sources in order, and passes on the samples that are accesses to
// memory.
#include "runtime/numa/live/access_sources.h"

#include <errno.h>
#include <unistd.h>

namespace smalloc::numa {
namespace {

/// True if the first or second level served the access. Unknown counts as memory.
bool from_near_cache(uint64_t data_source) {
  const uint64_t level = data_source >> PERF_MEM_LVL_SHIFT;
  return (level & PERF_MEM_LVL_HIT) && (level & (PERF_MEM_LVL_L1 | PERF_MEM_LVL_L2));
}

} // namespace

const char *AccessSources::open(const Config &config, const Topology &topology) {
  config_ = config;
  const bool any = config.wanted == CountSource::kAuto;
  why_ = nullptr;
  if ((any || config.wanted == CountSource::kPmu) && open_pmu(topology))
    kind_ = CountSource::kPmu;
  else if ((any || config.wanted == CountSource::kClock) && open_clock(topology))
    kind_ = CountSource::kClock;
  else if ((any || config.wanted == CountSource::kFaults) && open_faults(topology))
    kind_ = CountSource::kFaults;
  else
    kind_ = CountSource::kInstrumented;
  listens_ = !config.idle && (any || config.wanted == CountSource::kInstrumented);
  if (listens_)
    listen_to_accesses(config.sample_period);
  if (kind_ != CountSource::kInstrumented || config.wanted == CountSource::kInstrumented)
    return nullptr;
  if (error_ == EACCES || error_ == EPERM)
    return "perf events are not allowed (sysctl kernel.perf_event_paranoid=2, or a seccomp filter)";
  if (error_ == ENOENT || error_ == ENODEV || error_ == EOPNOTSUPP)
    return "this processor samples no data addresses";
  return why_ ? why_ : "the kernel refuses the events";
}

void AccessSources::close() {
  listen_to_accesses(0);
  rings_.close();
}

void AccessSources::ignore_thread(uint32_t thread) {
  for (std::atomic<uint32_t> &slot : ignored_)
    if (uint32_t none = 0; slot.compare_exchange_strong(none, thread))
      return;
}

bool AccessSources::ignores(uint32_t thread) const {
  for (const std::atomic<uint32_t> &slot : ignored_)
    if (thread && thread == slot.load(std::memory_order_relaxed))
      return true;
  return false;
}

bool AccessSources::from_spe(Touch &touch) {
  SpeRecord r;
  for (size_t looked = 0; looked < rings_.size();) {
    CpuRings::Ring &ring = rings_[turn_];
    if (!ring.auxiliary.next(r)) {
      PerfSample none;
      ring.samples.next(none); // the kernel's records about the auxiliary area and losses
      turn_ = (turn_ + 1) % rings_.size();
      looked++;
      continue;
    }
    if (ignores(r.thread) || r.ip >= kKernelHalf || !(r.load || r.store) || !r.missed_first_level ||
        r.address == 0 || r.address >= kKernelHalf)
      continue;
    touch = {r.address, ring.cpu};
    return true;
  }
  return false;
}

bool AccessSources::from_ring(Touch &touch) {
  if (is_spe_)
    return from_spe(touch);
  PerfSample s;
  for (size_t looked = 0; looked < rings_.size();) {
    if (!rings_[turn_].samples.next(s)) {
      turn_ = (turn_ + 1) % rings_.size();
      looked++;
      continue;
    }
    if (s.process != static_cast<uint32_t>(getpid()) || ignores(s.thread) || s.ip >= kKernelHalf)
      continue;
    uint64_t address = s.address;
    if (kind_ == CountSource::kClock)
      address = s.has_registers ? operands_->next_access(s.ip, s.registers) : 0;
    else if (kind_ == CountSource::kPmu && from_near_cache(s.data_source))
      continue;
    if (address == 0 || address >= kKernelHalf)
      continue;
    touch = {address, s.cpu};
    return true;
  }
  return false;
}

bool AccessSources::next(Touch &touch) {
  if (listens_ && take_recorded(touch.address, touch.cpu)) {
    recorded_ = true;
    return true;
  }
  while (from_ring(touch))
    if (!recorded_)
      return true;
  return false;
}

const char *AccessSources::name() const {
  static const char *const names[] = {"none", "pmu", "clock", "faults", "instrumented"};
  return names[static_cast<unsigned>(recorded_ ? CountSource::kInstrumented : kind_)];
}

uint64_t AccessSources::lost() const { return (listens_ ? lost_of_recorded() : 0) + rings_.lost(); }

} // namespace smalloc::numa
