//===- InputFile.h - files that plugin options name -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Decides how a file that an option names is read: what is no regular file is refused, as everywhere (smalloc/input_file.h),
// so that a compile never waits for a pipe.
//
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_INPUTFILE_H
#define SMALLOC_PASSES_INPUTFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>

namespace smalloc {

/// All of the file; null, and \p Why it cannot be read.
std::unique_ptr<llvm::MemoryBuffer> readInputFile(llvm::StringRef Path, std::string &Why);

} // namespace smalloc

#endif
