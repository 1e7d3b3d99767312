// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// written_file.h writes a result file completely or leaves the old file unchanged, and explains
// what to do if the disk is full.
#pragma once

#include <string>

namespace smalloc::cli {

// Writes `text` to the file. If it throws Failure, the old file, or its absence, is unchanged.
// Exceptions, which are written in place: a pipe or terminal, a file with several names, and a file
// in a folder where the user cannot create one. `option`: the option that named the file, for
// hints.
void write_file(const std::string &path, const std::string &text, const std::string &option);

// Throws what write_file() would throw if the place cannot be written at all. Called before work
// whose result would be lost. Does nothing if `path` is empty.
void check_can_write(const std::string &path, const std::string &option);

// True if `error` is the errno value of a full disk, a quota, or a limit of file sizes.
bool is_no_room(int error);
// Returns the command that helps. `command`: what to type instead, without the place.
std::string room_hint(int error, const std::string &command);

// Returns 0, or the errno value if not even a small file fits into the folder (empty: the working
// folder).
int lack_of_room(const std::string &folder);

} // namespace smalloc::cli
