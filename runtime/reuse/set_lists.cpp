// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// set_lists.cpp searches a set from the latest page on. It moves the pages before the one that it
// finds back by one on the way, since most pages are found early.
#include "runtime/reuse/set_lists.h"

#include <stdexcept>

namespace smalloc::reuse {

SetLists::SetLists(uint64_t entries, uint64_t ways, unsigned page_shift)
    : pages_(entries, kNone), sets_(ways ? entries / ways : 0), ways_(ways),
      page_shift_(page_shift) {
  if (entries == 0 || ways == 0 || entries % ways != 0)
    throw std::invalid_argument("entries must be a positive multiple of the ways");
}

bool SetLists::touch(uint64_t page) {
  uint64_t *const set = &pages_[(page >> page_shift_) % sets_ * ways_];
  uint64_t behind = page;
  for (uint64_t way = 0; way < ways_; way++) {
    const uint64_t here = set[way];
    set[way] = behind;
    if (here == page)
      return true;
    behind = here;
  }
  return false;
}

void SetLists::access(std::span<const uint64_t> pages) {
  for (const uint64_t page : pages)
    hits(page);
}

} // namespace smalloc::reuse
