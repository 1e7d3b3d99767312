// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// version.h names the build: what `smalloc --version` prints.
#pragma once

#include <string>

namespace smalloc::cli {

// Returns "smalloc 0.2.0 (commit 0123456789ab, built by GNU 12.2.0)". The commit is "unknown" in a
// build outside a repository.
std::string version_text();

} // namespace smalloc::cli
