//===- InputFile.cpp - reads files that options name ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/options/InputFile.h"
#include "smalloc/input_file.h"
#include <system_error>

using namespace llvm;

namespace smalloc {

/// Largest file accepted. Machine profiles have kilobytes, directives of programs megabytes.
static constexpr size_t MostBytes = size_t(64) << 20;

std::unique_ptr<MemoryBuffer> readInputFile(StringRef Path, std::string &Why) {
  const char *NoFile;
  size_t Bytes = 0;
  const int File = smalloc_open_input(Path.str().c_str(), &Bytes, &NoFile);
  if (File < 0) {
    Why = NoFile ? NoFile : std::generic_category().message(errno);
    return nullptr;
  }
  if (Bytes > MostBytes) {
    close(File);
    Why = "it is larger than 64 MiB";
    return nullptr;
  }
  // Reads instead of mapping: a file that shrinks meanwhile must not kill the compiler.
  auto Buffer = MemoryBuffer::getOpenFile(File, Path, Bytes, /*RequiresNullTerminator=*/true,
                                          /*IsVolatile=*/true);
  close(File);
  if (!Buffer) {
    Why = Buffer.getError().message();
    return nullptr;
  }
  return std::move(*Buffer);
}

} // namespace smalloc
