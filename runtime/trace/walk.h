// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// walk.h expands a recorded loop into the pages that it visits. It takes the iterations in order,
// and in each the references in order; a reference gives a run when it comes to another base page.
// A reference that stays on its page while the others visit many gives a run again now and then. So
// its page stays in an LRU list where the program keeps it.
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
  /// Leaves out runs in regions whose hash is not below `threshold`.
  WalkPages(uint64_t iterations, std::vector<WalkReference> references, uint64_t threshold);
  /// False if no writer makes this record: it has no or too many references, or more pages than
  /// kMostWalkPages.
  bool plausible() const { return plausible_; }
  /// Appends up to `most` runs. False if none was left.
  bool take(std::vector<AccessRun> &runs, size_t most);

private:
  struct Cursor {
    WalkReference reference;
    uint64_t next; ///< iteration of its next run
  };
  uint64_t iterations_, threshold_;
  uint64_t refresh_; ///< iterations after which a page is repeated
  bool plausible_;
  std::vector<Cursor> cursors_;
};

} // namespace smalloc::trace
