// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cost_model.h decides what misses cost, from a machine profile: MissCycles(M) = TLB misses * C_TLB +
// page faults * C_PF (Cascaval et al. 2005, equation 2), where C_TLB is a curve over the pages in use, since
// their page tables have to be cached as well, and both depend on the page size.
#pragma once

#include "runtime/format/machine_json.h"

#include <cstdint>

namespace smalloc::benefit {

inline constexpr uint64_t kBasePageBytes = 4096, kSuperpageBytes = uint64_t{2} << 20;

/// The last level of the data TLB for one page size. ways 0: fully associative.
struct TlbArray {
  uint64_t entries = 0, ways = 0;
};

class CostModel {
public:
  explicit CostModel(const format::MachineProfile &profile);

  const TlbArray &base() const { return base_; }
  const TlbArray &superpage() const { return superpage_; }
  /// One array serves both page sizes: base().
  bool shared() const { return shared_; }

  /// Cycles of one TLB miss while `pages` pages of that size are in use: interpolated by the logarithm
  /// between the profile's points; constant beyond them. A superpage's walk is one level shorter and its page
  /// table 512 times smaller: without a point of its own it costs what as many base pages would.
  double miss_cycles(uint64_t page_bytes, double pages) const;
  /// Cycles of one first touch. Without a measurement: 0.25 ns a byte of page cleared plus 500 ns (a guess,
  /// between a bare machine and a virtual one).
  double fault_cycles(uint64_t page_bytes) const;
  double frequency_hz() const { return frequency_hz_; }

private:
  const format::MachineProfile profile_;
  TlbArray base_, superpage_;
  bool shared_ = false;
  double frequency_hz_;
};

} // namespace smalloc::benefit
