// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// walk.h decides which pages a recorded loop visits, and in which order: iteration by iteration, the references in
// their order, each when it comes to another base page. A reference that stays on its page while the others visit many is told
// again now and then, so that in an LRU list it stays where the program keeps it.
#pragma once

#include "runtime/trace/format.h"

#include <cstdint>
#include <vector>

namespace smalloc::trace {

struct AccessRun {
  uint64_t address; ///< a multiple of 16
  uint64_t repeats; ///< accesses to the same page right after this one
  bool write;
};

class WalkPages {
public:
  /// Runs in regions whose hash is not below `threshold` are left out.
  WalkPages(uint64_t iterations, std::vector<WalkReference> references, uint64_t threshold);
  /// Nobody wrote such a record: too many references, or more pages than kMostWalkPages.
  bool plausible() const { return plausible_; }
  /// Appends up to `most` runs; false when there was none left.
  bool take(std::vector<AccessRun> &runs, size_t most);

private:
  struct Cursor {
    WalkReference reference;
    uint64_t next; ///< iteration of its next run
  };
  uint64_t iterations_, threshold_;
  uint64_t refresh_; ///< iterations after which a reference is told again
  bool plausible_;
  std::vector<Cursor> cursors_;
};

} // namespace smalloc::trace
