//===- StringArea.h - the strings of a record -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects the zero-terminated strings that follow the fixed part of a record. The record refers to
// each by its offset from the record's start.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_STRINGAREA_H
#define SMALLOC_PASSES_STRINGAREA_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>

namespace smalloc {

class StringArea {
public:
  explicit StringArea(uint32_t Start) : Start(Start) {}
  /// Adds \p S. Returns its offset from the record's start; 0 if it is empty and takes no bytes.
  uint32_t add(llvm::StringRef S) {
    if (S.empty())
      return 0;
    uint32_t Offset = Start + static_cast<uint32_t>(Bytes.size());
    Bytes.append(S.begin(), S.end());
    Bytes.push_back('\0');
    return Offset;
  }
  /// Returns the offset of the next string.
  uint32_t end() const { return Start + static_cast<uint32_t>(Bytes.size()); }
  /// Appends zero bytes up to a multiple of eight bytes from the record's start.
  void align() {
    while (end() % 8)
      Bytes.push_back('\0');
  }
  std::string Bytes;

private:
  uint32_t Start;
};

} // namespace smalloc
#endif
