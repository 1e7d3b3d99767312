// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// installation.h decides where the command looks for the libraries that belong to it: beside
// itself, in a build tree (bin/ and lib/) as in an installed one (which may have been moved), never
// along LD_LIBRARY_PATH.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace smalloc::cli {

// The folder of this executable, symbolic links resolved.
std::string own_folder();

// This executable.
std::string own_program();

// The folders that are searched, in order.
std::vector<std::string> library_folders();

// The first readable file of that name in those folders.
std::optional<std::string> find_library(const std::string &name);

// A hint: how to compile with the plugin that belongs to this command, ready for a shell. arguments: what follows.
std::string compile_hint(const std::string &arguments);

// What execvp would start for `command`; nothing when it finds no executable file.
std::optional<std::string> find_program(const std::string &command);

} // namespace smalloc::cli
