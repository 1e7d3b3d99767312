// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// input_signature.h decides when two runs of a program have "the same input": the same arguments behind its name. What
// files contain and what comes through pipes is not looked at; input:NAME in SMALLOC_CONF says it by hand.
#ifndef SMALLOC_BASE_INPUT_SIGNATURE_H
#define SMALLOC_BASE_INPUT_SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

namespace smalloc {

/// FNV-1a, argument by argument, each with the zero byte behind it.
class InputSignature {
public:
  void add(const char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
      hash_ = (hash_ ^ static_cast<unsigned char>(bytes[i])) * 0x100000001b3u;
  }
  uint64_t value() const { return hash_; }

private:
  uint64_t hash_ = 0xcbf29ce484222325u;
};

} // namespace smalloc
#endif
