// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// input_file.h decides how a file that a user names is read: whole, regular files only, with an
// error that names the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smalloc::cli {

// What there is to read of a file. start: how files of its kind begin, white space aside; of any other the first 4 KiB are read, by which
// whoever takes it apart refuses it. most: a larger one is refused.
struct InputKind {
  std::string_view start = {};
  size_t most = SIZE_MAX;
};
inline constexpr InputKind kProgramInput{"\177ELF"}, kTextInput{{}, size_t{64} << 20};

// Throws Failure(`what`, path, why). Reads rather than maps: a file that shrinks meanwhile must not
// kill us. wanted: the hint for folders and the like, in whose place something else belongs.
std::vector<unsigned char> read_file(const std::string &path, const std::string &what,
                                     InputKind kind = {}, const std::string &wanted = {});

} // namespace smalloc::cli
