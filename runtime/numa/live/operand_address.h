// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// operand_address.h decides which memory a thread is about to use, from where it was interrupted and its registers. That
// makes a sampler of data addresses out of any timer, where no processor unit delivers them.
//
// An interrupt lands between two instructions. From there on instructions are read, never executed: what they do to
// registers is followed as far as it is sums (moves, lea, additions, shifts) and one load of a pointer or an index; each
// memory operand on the way is an access to come, and samples at one place take them in turn. The thread's own stack,
// thread-local storage and scalars at fixed addresses are passed over: they lie where the thread does. Backward branches are
// taken, once, as loops take them; a call, a return or an unreadable place ends the search. x86-64 only; Zydis does the
// decoding.
#ifndef RUNTIME_NUMA_LIVE_OPERAND_ADDRESS_H
#define RUNTIME_NUMA_LIVE_OPERAND_ADDRESS_H

#include "runtime/numa/live/perf_ring.h"

namespace smalloc::numa {

/// Reads up to `bytes` of code; returns how many. Must not fault: the code may be gone.
using CodeReader = size_t (*)(uint64_t address, unsigned char *out, size_t bytes);
size_t read_own_code(uint64_t address, unsigned char *out, size_t bytes);

class OperandAddress {
public:
  /// Loads the decoder. nullptr, or why there is none.
  const char *open(CodeReader read = read_own_code);
  /// 0: not known. Not for several threads at a time.
  uint64_t next_access(uint64_t ip, const uint64_t (&registers)[kPerfRegisters]);
  uint64_t undecoded() const { return undecoded_; }

  /// displacement + register * scale + register * scale.
  struct Sum {
    int64_t displacement = 0;
    int8_t reg[2] = {-1, -1};
    uint8_t scale[2] = {0, 0};
    bool add(const Sum &other, unsigned times); ///< false: more than two registers
    bool constant() const { return reg[0] < 0; }
    bool uses(int r) const { return reg[0] == r || reg[1] == r; }
    uint64_t value(const uint64_t (&registers)[kPerfRegisters]) const;
  };
  /// A sum, or: what lies at a sum (`bytes` of it, 0: nothing is loaded), times a scale, plus a sum.
  struct Expression {
    Sum sum, from;
    uint8_t bytes = 0, scale = 1;
    bool is_signed = false;
  };

private:
  static constexpr unsigned kMostAccesses = 4; ///< of one place that take turns
  struct Place {
    uint64_t ip;
    uint8_t count, turn;
    Expression access[kMostAccesses];
  };
  void find(uint64_t ip, Place &place) const;

  static constexpr size_t kCached = 512; ///< 140 KiB: more hot places than a program has
  CodeReader read_ = nullptr;
  Place cache_[kCached] = {};
  uint64_t undecoded_ = 0;
};

} // namespace smalloc::numa
#endif
