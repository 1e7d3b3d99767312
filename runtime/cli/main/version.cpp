// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// version.cpp joins what the build passes on. It is a file of its own, so that a new commit
// compiles one small file.
#include "runtime/cli/main/version.h"

#include "commit.h" // generated: SMALLOC_COMMIT

namespace smalloc::cli {

std::string version_text() {
  return "smalloc " SMALLOC_VERSION " (commit " SMALLOC_COMMIT ", built by " SMALLOC_COMPILER ")";
}

} // namespace smalloc::cli
