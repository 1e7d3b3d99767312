// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// budget.h decides how many superpages the process may have at a time: a number (budget:512m), a
// share of what the process has in memory (budget:10%; beside it the same share of the pools whose pages
// were asked for, so that several programs can divide them), and never more than the memory cgroup has room for: a
// superpage is charged whole, and a cgroup that is full kills.
#ifndef SMALLOC_PAGES_BUDGET_H
#define SMALLOC_PAGES_BUDGET_H

#include "smalloc/base/spin_lock.h"
#include "smalloc/base/units.h"
#include "smalloc/os/os_hooks.h"

namespace smalloc {

class Budget {
public:
  struct Config {
    uint64_t bytes = 0;   ///< 0: no limit of this kind; less than one superpage counts as one
    unsigned percent = 0; ///< 0: no limit of this kind
    /// In superpages, what comes from pools beside the percentage of the footprint: pool_share().
    uint64_t pool_units = 0;
    const char *sysfs = "/sys";
    const char *procfs = "/proc";
  };
  /// So many percent of the pages of 2 MiB, with gigantic of those of 1 GiB too, that the system's pools have. In superpages.
  static uint64_t pool_share(const OsHooks &os, const char *sysfs, bool gigantic, unsigned percent);
  enum class Answer { kYes, kOverBudget, kCgroupFull };

  void init(const OsHooks &os, const Config &config);
  /// May the process have `wanted` superpages in all, `added` of them new? fresh: the new ones are
  /// memory that it has not got yet. Reads files of /proc only where a limit depends on them.
  Answer allows(uint64_t wanted, uint64_t added, bool fresh);
  bool limited() const { return units_ != kNone || percent_ != 0 || limit_file_[0] != 0; }
  /// Room in the memory cgroup, in bytes; UINT64_MAX when it has no limit (or none that we can see).
  uint64_t cgroup_room() const;
  /// The most superpages that the process may ever have, whatever it grows to: the number, a share of the pool, of the machine's memory,
  /// and the cgroup's room. UINT64_MAX: no limit.
  uint64_t most_superpages() const { return superpages_left(0); }
  /// The same where so many are charged already; the cgroup's room is what it has left in any case.
  uint64_t superpages_left(uint64_t charged) const;
  /// That of the user's budget alone: `bytes`, or `percent` of the machine's memory; UINT64_MAX when both are 0.
  static uint64_t most_bytes(uint64_t bytes, unsigned percent);

private:
  static constexpr uint64_t kNone = UINT64_MAX;
  void find_cgroup(const Config &config);
  bool try_cgroup(const char *folder, size_t folder_size, bool old);
  uint64_t resident_bytes() const;

  const OsHooks *os_ = nullptr;
  uint64_t units_ = kNone, pool_units_ = 0;
  unsigned percent_ = 0; ///< of the footprint
  char statm_[64] = "";
  char limit_file_[400] = "", usage_file_[400] = "", stat_file_[400] = "";
  uint64_t cgroup_limit_ = kNone;
};

} // namespace smalloc
#endif
