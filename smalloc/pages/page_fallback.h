// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// page_fallback.h chooses the pages for memory that deserves superpages: 1 GiB pages of a pool, 2
// MiB pages of a pool, transparent superpages, 64 KiB pages, base pages. The user names the first
// step (pages:). Each request tries the steps in this order and gets the first that is available. A
// counter records why it got no better one. The first fallback of the process is reported in one
// line on standard error. A directive may name another first step for its site's objects. If 1 GiB
// pages are not available, the objects continue with the user's first step; 64 KiB pages fall back
// to base pages. If the user wants no superpages, directives have no effect.
#ifndef SMALLOC_PAGES_PAGE_FALLBACK_H
#define SMALLOC_PAGES_PAGE_FALLBACK_H

#include "smalloc/base/text.h"
#include "smalloc/config/options.h"
#include "smalloc/os/page_settings.h"
#include "smalloc/pages/counters.h"

namespace smalloc {

class PageFallback {
public:
  struct Config {
    PageBacking asked = PageBacking::kThp;
    bool force = false; ///< force:on: transparent superpages although the administrator switched
                        ///< them off
    bool only_advised = false; ///< unadvised memory gets none, whatever the administrator's switch
                               ///< says
    bool directed_gigantic = false; ///< some directive names pages of 1 GiB
    const char *sysfs = "/sys";
    /// Most superpages that this process may have from the pools.
    uint64_t most_pool_units = UINT64_MAX;
  };
  /// Finds out which steps exist. May load libhugetlbfs: never call it from within malloc.
  void init(const OsHooks &os, const Config &config, Counters &counters);

  /// True if some page larger than a base page is available.
  bool any() const { return pools() || superpages() || medium() || directed_gigantic_; }
  bool pools() const { return has(PageKind::kGigantic) || has(PageKind::kHugetlb); }
  /// True if transparent superpages are available, by advice and by collapse.
  bool superpages() const { return has(PageKind::kSuperpage); }
  bool medium() const { return has(PageKind::kMedium) && !superpages(); }
  /// True if the object's units must be primed before advice for 64 KiB pages: a base page touched
  /// in each. The same advice would otherwise bring superpages.
  bool primes_medium() const { return medium() && settings_.superpage.advised; }
  /// True if 64 KiB pages need advice.
  bool advises_medium() const { return medium() && settings_.medium.advised; }
  const PageSettings &settings() const { return settings_; }
  /// Returns the alignment in bytes for objects of this size: 1 GiB if they may hold a 1 GiB page,
  /// otherwise 1. `first`: the requested first step (kSuperpage: the user's).
  size_t alignment_for(size_t bytes, PageKind first = PageKind::kSuperpage) const {
    return gives_gigantic(first) && bytes >= kGiganticBytes ? kGiganticBytes : 1;
  }
  /// True if an object with this first step gets some pages of a pool.
  bool pools(PageKind first) const { return pools() || gives_gigantic(first); }
  /// True if 1 GiB pages are available to objects whose directive names them.
  bool directed_gigantic() const { return directed_gigantic_; }
  /// Counts an object whose directive names pages of 1 GiB, and why it will get none.
  void note_directed_gigantic(size_t bytes);
  /// Counts an object whose directive names pages of 64 KiB, and why it will get none. Returns true
  /// if it may get them by its own advice.
  bool note_directed_medium();

  /// Reason why nothing transparent is available if PageSettings::disabled.
  static const char kDisabled[];

  /// Units from the front of an object that came from each pool; the rest falls back to the next
  /// steps.
  struct Pooled {
    UnitIndex gigantic_units = 0, hugetlb_units = 0;
    UnitIndex units() const { return gigantic_units + hugetlb_units; }
  };
  /// Takes pool pages for a committed range of `whole` units, as many as the pools have.
  Pooled take_pool_pages(char *start, UnitIndex whole, PageKind first = PageKind::kSuperpage);
  void give_pool_pages_back(char *start, const Pooled &pooled);

  /// Counts a request that ended on this step, and whether a directive got what it named.
  void got(PageKind kind, PageKind first = PageKind::kSuperpage) {
    counters_->requests_on[static_cast<unsigned>(kind)].add();
    if (kind == first && kind == PageKind::kGigantic)
      counters_->directed_1g_got.add();
    else if (kind == first && kind == PageKind::kMedium)
      counters_->directed_mthp_got.add();
  }
  /// Counts a step that was not available, and records the first one for the warning. `directed`: a
  /// directive named it.
  void refused(PageKind kind, WhyNot why, bool directed = false);
  /// True if a warning is to be written. Cheap. take_warning() then fills in the line once.
  bool wants_to_warn() const {
    uint32_t seen = first_refusal_.load(std::memory_order_relaxed);
    return seen != 0 && seen != kWritten;
  }
  bool take_warning(TextBuffer<512> &text);

private:
  static constexpr uint32_t kWritten = 1u << 31, kDirected = 1u << 16;
  bool has(PageKind kind) const { return steps_ >> static_cast<unsigned>(kind) & 1; }
  void step(PageKind kind, bool there) {
    if (there)
      steps_ |= 1u << static_cast<unsigned>(kind);
  }
  bool wanted(PageKind kind) const; ///< true at or below the step that the user named
  bool gives_gigantic(PageKind first) const {
    return has(PageKind::kGigantic) || (directed_gigantic_ && first == PageKind::kGigantic);
  }
  UnitIndex take_from(PageKind kind, char *start, UnitIndex units, bool directed);

  static constexpr size_t kGiganticBytes = size_t{1} << 30;
  const OsHooks *os_ = nullptr;
  Counters *counters_ = nullptr;
  Config config_;
  PageSettings settings_;
  unsigned steps_ = 0;
  bool directed_gigantic_ = false; ///< 1 GiB pages that only directives get
  WhyNot no_gigantic_ = WhyNot::kNoSuchSize;
  std::atomic<uint32_t> first_refusal_{0}; ///< kDirected | kind << 8 | why, + 1; kWritten: reported
};

} // namespace smalloc
#endif
