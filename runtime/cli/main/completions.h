// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// completions.h prints completion scripts for bash, zsh and fish from the options as they were
// declared, so that no script can name a verb or an option that does not exist.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace smalloc::cli {

// Returns the script. shell: "bash", "zsh" or "fish". `app` has all verbs.
std::string completion_script(const CLI::App &app, const std::string &shell);

} // namespace smalloc::cli
