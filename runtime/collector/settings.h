// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// settings.h decides what SMALLOC_CONF may ask of a recording, and where its trace goes.
// Inside the traced process: no malloc, no C++ runtime.
#ifndef RUNTIME_COLLECTOR_SETTINGS_H
#define RUNTIME_COLLECTOR_SETTINGS_H

#include "runtime/trace/sampled_event.h"

#include <stddef.h>
#include <stdint.h>

namespace smalloc::trace {

struct Settings {
  char pattern[4096]; ///< of the file's name; empty: none was named
  uint64_t threshold; ///< of region_hash()
  uint64_t samples;   ///< most regions that are sampled at a time; 0: any number
  SampledEvent event; ///< if samples_event
  bool samples_event; ///< the kernel tells accesses, not the program
};

/// What SMALLOC_CONF says. False: do not record, whoever asks.
bool read_settings(Settings &settings);
/// What the run's input is (smalloc/base/input_signature.h): as input:NAME has it, or the arguments. False: nobody knows.
bool input_of_run(uint64_t &input);
/// A share as text, "1" or "0.25", exactly: the reader's threshold is to be ours.
void rate_text(uint64_t threshold, char *text, size_t capacity);
/// The folders above `path`, as compilers make them for the profiles of their programs. What cannot be made shows when the file is opened.
void make_folders(const char *path);
/// A folder gets a file of the name that an instrumented program chooses. False: too long.
bool into_folder(char *path, size_t capacity);

} // namespace smalloc::trace
#endif
