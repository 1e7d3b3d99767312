// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// help.h makes --help and the man page from the declared options. So neither can name an option
// that does not exist.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace smalloc::cli {

// Installs smalloc's help in `app` and all its verbs: two worked examples, usage, description,
// options.
void install_help(CLI::App &app);

// Returns the short text for `smalloc` without arguments.
std::string short_help();

// Returns a man page in man(7): smalloc.1 for an empty `name`, smalloc-VERB.1 for a verb's name.
// Empty: there is no such page.
std::string man_page(CLI::App &app, const std::string &name);

} // namespace smalloc::cli
