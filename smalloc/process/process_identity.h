// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// process_identity.h identifies programs and processes. A program is known across its runs by its
// executable's build-id. The start time distinguishes a process from a later one with the same
// number. A signature stands for the arguments. It allocates nothing and takes no lock.
#ifndef SMALLOC_PROCESS_PROCESS_IDENTITY_H
#define SMALLOC_PROCESS_PROCESS_IDENTITY_H

#include <stddef.h>
#include <stdint.h>

namespace smalloc {

/// Writes the executable's build-id to `text` in hexadecimal digits. Returns false if it has none
/// or `text` is too small.
bool executable_build_id(char *text, size_t capacity);

/// Returns the process' start time in clock ticks since boot; 0: no such process, a zombie, or no
/// /proc.
uint64_t start_ticks(uint64_t pid);
/// True if the process `pid` is the one that started at `start_ticks` and is not a zombie.
bool is_alive(uint64_t pid, uint64_t start_ticks);

/// True if the parent was started with this value of environment variable `variable`. False if
/// /proc does not report it, or for a value of 2 KiB or more.
bool parent_was_started_with(const char *variable, const char *value);
/// True if in addition the parent has an image loaded whose file name begins with `image`. The
/// parent has then seen the same settings.
bool parent_has_seen(const char *variable, const char *value, const char *image);

/// Sets `signature` to the hash of the arguments after the program's name, each with its zero byte
/// (smalloc/base/fnv.h). Two runs with equal arguments count as runs with the same input; the
/// contents of files and pipes are ignored. input:NAME in SMALLOC_CONF names the input by hand.
/// Returns false if /proc does not report the arguments.
bool command_line_signature(uint64_t &signature);

} // namespace smalloc
#endif
