// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// input_file.h reads a file that the user names: as a whole, regular files only, with an error that
// names the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smalloc::cli {

// The part of a file that is read. `start`: the first bytes of a file of this kind, after white
// space. If a file begins otherwise, only its first 4 KiB are read, enough for its parser to refuse
// it. `most`: limit in bytes; a larger file is refused.
struct InputKind {
  std::string_view start = {};
  size_t most = SIZE_MAX;
};
inline constexpr InputKind kProgramInput{"\177ELF"}, kTextInput{{}, size_t{64} << 20};

// Reads the file at `path`. Throws Failure(`what`, path, why). It does not map the file: a mapped
// file that shrinks would kill this process. `wanted`: the hint if the path is no regular file;
// empty: the usual hint.
std::vector<unsigned char> read_file(const std::string &path, const std::string &what,
                                     InputKind kind = {}, const std::string &wanted = {});

} // namespace smalloc::cli
