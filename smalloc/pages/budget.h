// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// budget.h limits how many superpages the process may have at a time. The limit is a number
// (budget:512m) or a share of the process' resident memory (budget:10%). With a share, the same
// share of the requested pools is allowed in addition, so that several programs can divide the
// pools. The memory cgroup's room limits them always: a superpage is charged whole, and a full
// cgroup kills.
#ifndef SMALLOC_PAGES_BUDGET_H
#define SMALLOC_PAGES_BUDGET_H

#include "smalloc/os/os_hooks.h"

namespace smalloc {

class Budget {
public:
  struct Config {
    uint64_t bytes = 0;   ///< 0: no limit of this kind; less than one superpage counts as one
    unsigned percent = 0; ///< 0: no limit of this kind
    /// Superpages from pools that the percentage of the footprint does not include: pool_share().
    uint64_t pool_units = 0;
    const char *sysfs = "/sys";
    const char *procfs = "/proc";
  };
  /// Returns `percent` percent of the system's pool pages, counted in superpages: pages of 2 MiB
  /// and, if `gigantic`, those of 1 GiB.
  static uint64_t pool_share(const OsHooks &os, const char *sysfs, bool gigantic, unsigned percent);
  enum class Answer { kYes, kOverBudget, kCgroupFull };

  void init(const OsHooks &os, const Config &config);
  /// Answers whether the process may have `wanted` superpages in all, `added` of them new. `fresh`:
  /// the new ones need memory that the process does not have yet. Reads files of /proc only if a
  /// limit depends on them.
  Answer allows(uint64_t wanted, uint64_t added, bool fresh);
  bool limited() const { return units_ != kNone || percent_ != 0 || limit_file_[0] != 0; }
  /// Returns the room in the memory cgroup, in bytes; UINT64_MAX if it has no visible limit.
  uint64_t cgroup_room() const;
  /// Returns the most superpages that the process may ever have, however much it grows. The number,
  /// the share of the pool and of the machine's memory, and the cgroup's room limit it. UINT64_MAX:
  /// no limit.
  uint64_t most_superpages() const { return superpages_left(0); }
  /// Returns how many superpages the process may have beside `charged` ones. The cgroup's room
  /// always counts as what is left.
  uint64_t superpages_left(uint64_t charged) const;
  /// Returns the limit of the user's budget alone: `bytes`, or `percent` of the machine's memory;
  /// UINT64_MAX if both are 0.
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
