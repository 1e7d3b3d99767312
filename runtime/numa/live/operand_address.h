// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// operand_address.h computes which memory a thread is about to access, from the place where it was
// interrupted and its registers. So any timer becomes a sampler of data addresses where no
// processor unit delivers them.
//
// An interrupt lands between two instructions. From there on instructions are read, never executed.
// Their effect on registers is followed as far as it is sums (moves, lea, additions, shifts) and
// one load of a pointer or an index. Each memory operand on the way is an access to come; samples
// at one place take them in turn. The thread's own stack, thread-local storage and scalars at fixed
// addresses are skipped: they lie where the thread does. Backward branches are taken, once, as
// loops take them. A call, a return or an unreadable place ends the search. x86-64 only; Zydis
// decodes.
#ifndef RUNTIME_NUMA_LIVE_OPERAND_ADDRESS_H
#define RUNTIME_NUMA_LIVE_OPERAND_ADDRESS_H

#include "runtime/numa/live/perf_ring.h"

namespace smalloc::numa {

/// Reads up to `bytes` of code; returns the number read. Must not fault: the code may be gone.
using CodeReader = size_t (*)(uint64_t address, unsigned char *out, size_t bytes);
size_t read_own_code(uint64_t address, unsigned char *out, size_t bytes);

class OperandAddress {
public:
  /// Loads the decoder. Returns nullptr, or the reason why there is none.
  const char *open(CodeReader read = read_own_code);
  /// Returns the address of the next access; 0: unknown. One thread at a time.
  uint64_t next_access(uint64_t ip, const uint64_t (&registers)[kPerfRegisters]);
  uint64_t undecoded() const { return undecoded_; }

  /// Sum of the form displacement + register * scale + register * scale.
  struct Sum {
    int64_t displacement = 0;
    int8_t reg[2] = {-1, -1};
    uint8_t scale[2] = {0, 0};
    bool add(const Sum &other, unsigned times); ///< false: the sum would need more
                                                ///< than two registers, or a scale over 255
    bool constant() const { return reg[0] < 0; }
    bool uses(int r) const { return reg[0] == r || reg[1] == r; }
    uint64_t value(const uint64_t (&registers)[kPerfRegisters]) const;
  };
  /// A sum; or the value loaded from the sum `from` (`bytes` of it; 0: nothing is loaded), times a
  /// scale, plus a sum.
  struct Expression {
    Sum sum, from;
    uint8_t bytes = 0, scale = 1;
    bool is_signed = false;
  };

private:
  static constexpr unsigned kMostAccesses = 4; ///< of one place, taken in turn
  struct Place {
    uint64_t ip;
    uint8_t count, turn;
    Expression access[kMostAccesses];
  };
  void find(uint64_t ip, Place &place) const;

  static constexpr size_t kCached = 512; ///< 88 KiB: more hot places than a program has
  CodeReader read_ = nullptr;
  Place cache_[kCached] = {};
  uint64_t undecoded_ = 0;
};

} // namespace smalloc::numa
#endif
