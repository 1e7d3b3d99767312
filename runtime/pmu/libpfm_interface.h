// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libpfm_interface.h declares what event_names.cpp uses of libpfm4, so that a build needs its
// library but not its development package: LLVM brings the library. A unit test compares the file
// with perfmon/pfmlib.h.
#pragma once

#include <cstddef>

struct perf_event_attr;

namespace smalloc::pmu {

constexpr int kPfmSuccess = 0;          // PFM_SUCCESS
constexpr int kPfmUserLevel = 0x08;     // PFM_PLM3
constexpr unsigned kPfmOsPerfEvent = 1; // PFM_OS_PERF_EVENT, of an enumeration

// pfm_perf_encode_arg_t.
struct PfmEncodeArgument {
  perf_event_attr *attr; // libpfm4 writes the event
  char **name;           // libpfm4 writes the full name; may be null
  size_t size;           // of this structure
  int index, cpu, flags, padding;
};

} // namespace smalloc::pmu

#ifndef __PFMLIB_H__ // the unit test includes both
extern "C" {
int pfm_initialize(void);
int pfm_get_os_event_encoding(const char *name, int privilege_levels, unsigned os, void *argument);
}
#endif
