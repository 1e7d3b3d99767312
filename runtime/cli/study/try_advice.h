// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// try_advice.h turns the measurements of `smalloc try` into a result, page sizes to try, and the
// next command. Pure functions of TryFacts: nothing here runs a program or reads the system.
#pragma once

#include "runtime/study/paired.h"

#include <cstdint>
#include <string>
#include <vector>

namespace smalloc::cli {

struct TryFacts {
  study::PairedChange cpu, user;      // seconds
  study::PairedChange faults, memory; // page faults; peak resident bytes
  // Bytes at the peak of a run with smalloc.
  uint64_t heap_bytes = 0, heap_superpage_bytes = 0;
  uint64_t static_base_bytes = 0, text_base_bytes = 0; // on base pages
  uint64_t superpage_bytes_without = 0;                // at the peak of a run without smalloc
  bool has_sites = false;                              // compiled with the plugin
  bool system_has_1g = false, system_has_64k = false;
};

// high / low of an interval from which on a difference is called unclear: only more runs can tell.
inline constexpr double kWideInterval = 1.1;

enum class TryResult { kUnknown, kFaster, kSlower, kSame };

// Returns the result: kUnknown if there are fewer pairs than a claim needs, otherwise what the CPU
// times of the pairs show.
TryResult try_result(const TryFacts &facts);
const char *try_result_name(TryResult result);

struct PageProposal {
  std::string pages;  // as `smalloc study --pages` names them
  std::string reason; // "1 GiB pages for a heap of 3.1 GiB"
};
std::vector<PageProposal> page_proposals(const TryFacts &facts);

// Returns one or two lines; a line is a command with its reason, or "nothing: ..." with the reason.
// command: the program and its arguments as a shell takes them; compile: how to use the plugin.
std::vector<std::string> next_steps(const TryFacts &facts, const std::string &command,
                                    const std::string &compile);

} // namespace smalloc::cli
