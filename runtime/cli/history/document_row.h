// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// document_row.h reads a file that holds several JSON documents in a row, as stats_file leaves them
// if a program runs twice. The last one is used.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smalloc::cli {

/// Returns the last document in `bytes`, with a note on standard error if there are several.
/// Returns all bytes if they are no row of objects; the parser then refuses them. O(bytes).
std::string_view last_document(const std::string &file, const std::vector<unsigned char> &bytes);

} // namespace smalloc::cli
