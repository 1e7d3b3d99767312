// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// shared_claims.h decides how the programs of one user tell each other how many superpages they count on: a file of a few KiB in
// /dev/shm, readable and writable by that user alone, with one line a process (number, start time, superpages). It is read and written
// whole under a lock, never mapped: whatever somebody makes of it costs wrong numbers at most. Who has ended
// has no claim: whoever looks next removes it, and the last one removes the file.
#ifndef SMALLOC_AGENT_SHARED_CLAIMS_H
#define SMALLOC_AGENT_SHARED_CLAIMS_H

#include <stddef.h>
#include <stdint.h>

namespace smalloc {

struct Claim {
  uint64_t pid, start_ticks, superpages; ///< pid 0: free
};

inline constexpr size_t kMostClaims = 255; ///< further programs claim nothing
inline constexpr char kClaimsMagic[9] = "SMCLAIM1";

/// The file's contents.
struct ClaimTable {
  char magic[8];
  Claim claims[kMostClaims];
};

/// Is this process alive, and the same that claimed?
using IsAlive = bool (*)(uint64_t pid, uint64_t start_ticks);

/// Takes bytes that anybody may have written, drops what is dead or makes no sense, puts `mine` in (superpages 0: takes it out).
/// Returns what the others claim; `any`: some claim is left. Pure.
uint64_t exchange_claims(ClaimTable &table, size_t bytes_read, const Claim &mine, IsAlive alive,
                         bool &any);

class SharedClaims {
public:
  /// folder: "/dev/shm". The file is folder/smalloc.UID.
  void init(const char *folder, const Claim &self, IsAlive alive);
  /// False: there is nothing to share (no such folder, a file of somebody else's under that name, somebody holds the lock); others
  /// is 0 then. Never waits for longer than some milliseconds.
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
