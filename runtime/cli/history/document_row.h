// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// document_row.h decides what is read of a file that holds several JSON documents one behind the other, as stats_file leaves them when a
// program runs twice: the last one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smalloc::cli {

/// The last of the objects that the bytes are a row of, with a note on standard error when there are several. All of the bytes when they are no
/// such row, for whoever parses them to refuse. O(bytes).
std::string_view last_document(const std::string &file, const std::vector<unsigned char> &bytes);

} // namespace smalloc::cli
