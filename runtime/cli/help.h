// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// help.h decides what --help and the man page look like: both are made of the options as they were
// declared, so that neither can name an option that does not exist.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace smalloc::cli {

// Gives `app` and all its verbs the house's help: two worked examples, usage, what it does,
// options.
void install_help(CLI::App &app);

// The short text for `smalloc` alone.
std::string short_help();

// smalloc.1 in man(7).
std::string man_page(CLI::App &app);

} // namespace smalloc::cli
