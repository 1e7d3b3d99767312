// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// input_file.h decides how a file that a user names is read: whole, regular files only, with an
// error that names the file.
#pragma once

#include <string>
#include <vector>

namespace smalloc::cli {

// Throws Failure(`what`, path, why). Reads rather than maps: a file that shrinks meanwhile must not
// kill us. wanted: the hint for folders and the like, in whose place something else belongs.
std::vector<unsigned char> read_file(const std::string &path, const std::string &what,
                                     const std::string &wanted = {});

} // namespace smalloc::cli
