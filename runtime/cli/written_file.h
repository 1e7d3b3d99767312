// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// written_file.h decides that a file of a result is there whole or as it was before, and what is said where there is no room for it.
#pragma once

#include <string>

namespace smalloc::cli {

// Throws Failure: then what stood there still does, and nothing stands where nothing stood; but for what is no file (a pipe, a
// terminal), what has several names, and a file in a folder in which we may not make one: these are written as they are. option: which named the file, for hints.
void write_file(const std::string &path, const std::string &text, const std::string &option);

// Throws what write_file() would throw for a place that cannot be written at all: before work whose result would be lost. path empty: none.
void check_can_write(const std::string &path, const std::string &option);

// Is it an errno value of a full disk, a quota, or a limit of file sizes?
bool is_no_room(int error);
// What helps; `command`: what is to be typed instead, without the place.
std::string room_hint(int error, const std::string &command);

// 0, or why not even a small file fits into the folder (empty: this one).
int lack_of_room(const std::string &folder);

} // namespace smalloc::cli
