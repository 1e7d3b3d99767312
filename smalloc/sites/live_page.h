// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// live_page.h holds all published statistics in one piece of memory, laid out as in live.h. The
// memory is private until the heaps start, and a memory file from then on. Its address never
// changes, so code that counts is not affected.
#ifndef SMALLOC_SITES_LIVE_PAGE_H
#define SMALLOC_SITES_LIVE_PAGE_H

#include "smalloc/base/units.h"
#include "smalloc/files/memory_file.h"
#include "smalloc/include/smalloc/live.h"
#include "smalloc/pages/counters.h"
#include "smalloc/pages/region.h"

namespace smalloc {

struct alignas(kBasePageBytes) LiveContents {
  smalloc_live_header header;
  smalloc_live_heap heaps[SMALLOC_LIVE_HEAPS];
  uint32_t counter_names[SMALLOC_LIVE_COUNTERS];
  Counters counters;
  uint64_t counters_to_come[SMALLOC_LIVE_COUNTERS - kCounters];
  smalloc_live_site sites[SMALLOC_LIVE_SITES];
  static constexpr size_t kBeforeStrings =
      sizeof(smalloc_live_header) + SMALLOC_LIVE_HEAPS * sizeof(smalloc_live_heap) +
      SMALLOC_LIVE_COUNTERS * (sizeof(uint32_t) + sizeof(uint64_t)) +
      SMALLOC_LIVE_SITES * sizeof(smalloc_live_site);
  char strings[SMALLOC_LIVE_BYTES - kBeforeStrings]; ///< the first is ""
};
static_assert(sizeof(LiveContents) == SMALLOC_LIVE_BYTES, "padding in the statistics page");

struct LiveDescription {
  uint32_t strategy = 0;
  pid_t process = 0;
  const char *machine = "", *thp = "", *version = "";
};

class LivePage {
public:
  /// Fills in the constant fields. `publish`: also makes the page visible to other processes. If no
  /// memory file is available, the process counts for itself only.
  void start(const Region &region, const LiveDescription &description, bool publish);
  /// Gives the child of a fork a page of its own, with the parent's numbers so far.
  void after_fork_in_child();
  bool published() const { return published_; }

  LiveContents &contents() { return contents_; }
  Counters &counters() { return contents_.counters; }
  /// Copies a string into the page and returns its offset; 0 if there is no room. REQUIRES: no
  /// other thread adds a string meanwhile (SiteAccounts' lock, or the start).
  uint32_t add_string(const char *text);
  const char *string(uint32_t offset) const { return contents_.strings + offset; }

private:
  void publish();
  void used_pieces(MemoryPiece pieces[2]) const;

  // Zero-initialised: 128 KiB that take no memory until they are used.
  LiveContents contents_{};
  int fd_ = 0;
  void *spare_ = nullptr; ///< for a child to which the kernel refuses every mapping
  bool published_ = false;
};

/// The only instance.
extern LivePage g_live;

} // namespace smalloc
#endif
