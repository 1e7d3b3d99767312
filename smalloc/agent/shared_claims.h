// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// shared_claims.h shares among the programs of one user how many superpages each expects. They use
// a file of a few KiB in /dev/shm, readable and writable by that user alone, with one entry for
// each process (number, start time, superpages). A process reads and writes the whole file under a
// lock and never maps it: corrupt contents cost wrong numbers at most. An ended process has no
// claim: the next reader removes it, and the last process removes the file.
#ifndef SMALLOC_AGENT_SHARED_CLAIMS_H
#define SMALLOC_AGENT_SHARED_CLAIMS_H

#include <stddef.h>
#include <stdint.h>

namespace smalloc {

struct Claim {
  uint64_t pid, start_ticks, superpages; ///< pid 0: free entry
};

inline constexpr size_t kMostClaims = 255; ///< further programs claim nothing
inline constexpr char kClaimsMagic[9] = "SMCLAIM1";

/// Contents of the file.
struct ClaimTable {
  char magic[8];
  Claim claims[kMostClaims];
};

/// Returns true if the process is alive and is the one that claimed.
using IsAlive = bool (*)(uint64_t pid, uint64_t start_ticks);

/// Updates the table: drops entries of ended processes and invalid ones, and sets `mine`
/// (superpages 0: removes it). The bytes may come from any writer. Returns the claims of the
/// others; `any`: some claim is left. Pure.
uint64_t exchange_claims(ClaimTable &table, size_t bytes_read, const Claim &mine, IsAlive alive,
                         bool &any);

class SharedClaims {
public:
  /// Sets the file folder/smalloc.UID. `folder`: "/dev/shm".
  void init(const char *folder, const Claim &self, IsAlive alive);
  /// Sets this process' claim and `others`. Returns false, and 0 in `others`, if sharing is not
  /// possible: no such folder, another user's file under that name, or a held lock. Waits for some
  /// milliseconds at most.
  bool exchange(uint64_t superpages, uint64_t &others);
  bool claiming() const { return claiming_; }

private:
  bool exchange_table(uint64_t superpages, uint64_t &others);
  char path_[256] = "";
  Claim self_ = {};
  IsAlive alive_ = nullptr;
  bool claiming_ = false;
};

} // namespace smalloc
#endif
