// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// process_identity.h decides how a program is known across its runs (the build-id of its executable), how one run is told from the
// next one under the same number (its start time), and what it was called with. Allocates nothing, takes no lock.
#ifndef SMALLOC_PROCESS_PROCESS_IDENTITY_H
#define SMALLOC_PROCESS_PROCESS_IDENTITY_H

#include <stddef.h>
#include <stdint.h>

namespace smalloc {

/// Of the executable, in hexadecimal digits; false: it has none, or more than fits.
bool executable_build_id(char *text, size_t capacity);

/// When a process started, in clock ticks since boot; 0: there is no such process, or no /proc.
uint64_t start_ticks(uint64_t pid);
/// The process of that number is the one that started then, and not a zombie.
bool is_alive(uint64_t pid, uint64_t start_ticks);

/// Was the parent started with this value of an environment variable, and has it an image loaded whose file's name begins like this?
/// Then it has seen what we see. False where /proc does not tell.
bool parent_has_seen(const char *variable, const char *value, const char *image);

/// Of the arguments behind the program's name (smalloc/base/input_signature.h); false: /proc does not tell.
bool command_line_signature(uint64_t &signature);

} // namespace smalloc
#endif
