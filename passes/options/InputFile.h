//===- InputFile.h - reads files that options name --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Reads a file that a plugin option names. Refuses anything but a regular file, like the other
// readers (smalloc/input_file.h), so a compilation never waits for a pipe.
//
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_INPUTFILE_H
#define SMALLOC_PASSES_INPUTFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>

namespace smalloc {

/// Returns the content of the file \p Path; null if it cannot be read, with the reason in \p Why.
std::unique_ptr<llvm::MemoryBuffer> readInputFile(llvm::StringRef Path, std::string &Why);

} // namespace smalloc

#endif
