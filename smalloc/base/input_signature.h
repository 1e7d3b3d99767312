// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// input_signature.h identifies a run's input by a hash of the program's arguments after its name.
// Two runs with equal arguments count as runs with the same input. The hash ignores the contents of
// files and pipes; `input:NAME` in SMALLOC_CONF names the input by hand.
#ifndef SMALLOC_BASE_INPUT_SIGNATURE_H
#define SMALLOC_BASE_INPUT_SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

namespace smalloc {

/// Hashes with FNV-1a. Add each argument together with its terminating zero byte.
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
