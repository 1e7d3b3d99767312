// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The declarations of libpfm_interface.h are those of perfmon/pfmlib.h.
#include <cstddef>
#include <gtest/gtest.h>
#include <perfmon/pfmlib_perf_event.h>
#include <type_traits>

#include "runtime/pmu/libpfm_interface.h"

namespace smalloc::pmu {
namespace {

TEST(LibpfmInterface, IsThatOfTheHeader) {
  static_assert(kPfmSuccess == PFM_SUCCESS && kPfmUserLevel == PFM_PLM3);
  static_assert(kPfmOsPerfEvent == PFM_OS_PERF_EVENT && sizeof kPfmOsPerfEvent == sizeof(pfm_os_t));
  static_assert(std::is_same_v<decltype(pfm_initialize), int()>);
  static_assert(std::is_same_v<decltype(pfm_get_os_event_encoding),
                               int(const char *, int, pfm_os_t, void *)>);
  static_assert(sizeof(PfmEncodeArgument) == sizeof(pfm_perf_encode_arg_t));
  static_assert(offsetof(PfmEncodeArgument, attr) == offsetof(pfm_perf_encode_arg_t, attr));
  static_assert(offsetof(PfmEncodeArgument, name) == offsetof(pfm_perf_encode_arg_t, fstr));
  static_assert(offsetof(PfmEncodeArgument, size) == offsetof(pfm_perf_encode_arg_t, size));
  static_assert(offsetof(PfmEncodeArgument, index) == offsetof(pfm_perf_encode_arg_t, idx));
  static_assert(offsetof(PfmEncodeArgument, flags) == offsetof(pfm_perf_encode_arg_t, flags));
}

} // namespace
} // namespace smalloc::pmu
