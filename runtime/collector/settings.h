// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// settings.h reads what SMALLOC_CONF asks of a recording, and finds the place of its trace.
// Inside the traced process: no malloc, no C++ runtime.
#ifndef RUNTIME_COLLECTOR_SETTINGS_H
#define RUNTIME_COLLECTOR_SETTINGS_H

#include "runtime/trace/sampled_event.h"

#include <stddef.h>
#include <stdint.h>

namespace smalloc::trace {

struct Settings {
  char pattern[4096]; ///< of the trace's file name; empty: none named
  uint64_t threshold; ///< regions with a lower region_hash() are sampled
  uint64_t samples;   ///< most regions sampled at a time; 0: any number
  SampledEvent event; ///< valid if samples_event
  bool samples_event; ///< the kernel samples accesses; the program records none
};

/// Reads SMALLOC_CONF. False: the process must not be recorded, even if an image asks for it.
bool read_settings(Settings &settings);
/// Computes the signature of the run's input (command_line_signature()): of input:NAME, else
/// of the arguments. False: unknown.
bool input_of_run(uint64_t &input);
/// Writes a threshold as a share ("1", "0.25"), exactly: the reader must compute the same
/// threshold.
void rate_text(uint64_t threshold, char *text, size_t capacity);
/// Creates the folders above `path`, as compilers do for the profiles of their programs. Opening
/// the file reports what could not be created.
void make_folders(const char *path);
/// Appends a file name to `path` if it is a folder: the name that an instrumented program chooses.
/// False: too long.
bool into_folder(char *path, size_t capacity);

} // namespace smalloc::trace
#endif
