// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// installation.h finds the libraries that belong to this command. They lie beside the command, in a
// build tree (bin/ and lib/) or in an installed one, which may have been moved. LD_LIBRARY_PATH is
// never searched.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace smalloc::cli {

// Returns the folder of this executable, with symbolic links resolved.
std::string own_folder();

// Returns the path of this executable.
std::string own_program();

// Returns the folders that are searched, in order.
std::vector<std::string> library_folders();

// Returns the first readable file with that name in the folders.
std::optional<std::string> find_library(const std::string &name);

// A plugin of an installed tree, and the major version of LLVM that it is built for.
struct Plugin {
  int llvm;
  std::string path;
};

// Returns the plugins in those folders, the version that smalloc prefers first.
std::vector<Plugin> find_plugins();

// Returns a hint for a shell: how to compile with the plugin of this command. `arguments` follow
// it.
std::string compile_hint(const std::string &arguments);

// Returns the file that execvp would run for `command`, or nothing if there is no executable file.
std::optional<std::string> find_program(const std::string &command);

} // namespace smalloc::cli
