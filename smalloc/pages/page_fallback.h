// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// page_fallback.h decides what stands behind memory that deserves superpages: 1 GiB pages of a pool, 2 MiB
// pages of a pool, transparent superpages, 64 KiB pages, base pages. The user names the first step
// (pages:); each request gets the highest step that can be had, step by step, and is counted with
// the reason why it got no better. The first fallback of the process is one line on standard error.
// A directive may name another first step for its site's objects: 1 GiB pages, from which they fall to the user's first
// step, or 64 KiB pages, from which they fall to base pages. Where the user wants no superpages, it asks in vain.
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
    bool force = false;     ///< force:on: transparent superpages although they are switched off
    bool only_ours = false; ///< unadvised memory gets none, whatever the administrator said
    bool directed_gigantic = false; ///< some directive names pages of 1 GiB
    const char *sysfs = "/sys";
    uint64_t most_pool_units =
        UINT64_MAX; ///< that this process may have of the pools, in superpages
  };
  /// Finds out which steps exist. May load libhugetlbfs: not from within malloc.
  void init(const OsHooks &os, const Config &config, Counters &counters);

  /// Some page larger than a base page may be had.
  bool any() const { return pools() || superpages() || medium() || directed_gigantic_; }
  bool pools() const { return has(PageKind::kGigantic) || has(PageKind::kHugetlb); }
  /// Transparent superpages: by advice, and by collapse.
  bool superpages() const { return has(PageKind::kSuperpage); }
  bool medium() const { return has(PageKind::kMedium) && !superpages(); }
  /// 64 KiB pages need advice that would bring superpages, too: the object's units must be primed
  /// (a base page each) before the advice.
  bool primes_medium() const { return medium() && settings_.superpage.advised; }
  /// 64 KiB pages come by advice (and not to all memory anyway).
  bool advises_medium() const { return medium() && settings_.medium.advised; }
  const PageSettings &settings() const { return settings_; }
  /// How far objects of this size should be aligned, in bytes: 1 GiB for those that may hold such a
  /// page, otherwise 1. first: the step that is asked for (kSuperpage: the user's).
  size_t alignment_for(size_t bytes, PageKind first = PageKind::kSuperpage) const {
    return gives_gigantic(first) && bytes >= kGiganticBytes ? kGiganticBytes : 1;
  }
  /// Do some pages of a pool come to an object that asks for this step?
  bool pools(PageKind first) const { return pools() || gives_gigantic(first); }
  /// Some directive's objects get pages of 1 GiB, whatever others get.
  bool directed_gigantic() const { return directed_gigantic_; }
  /// An object of this size whose directive names pages of 1 GiB: counts it, and why it will have none.
  void note_directed_gigantic(size_t bytes);
  /// An object whose directive names pages of 64 KiB: counts it, and why it will have none. True: it may have them by advice
  /// of its own.
  bool note_directed_medium();

  /// Why nothing transparent can be had where PageSettings::disabled.
  static const char kDisabled[];

  /// How many units from the front came from which pool; the rest is to get the next steps.
  struct Pooled {
    UnitIndex gigantic_units = 0, hugetlb_units = 0;
    UnitIndex units() const { return gigantic_units + hugetlb_units; }
  };
  /// Takes pool pages for a committed range of `whole` units, as many as there are.
  Pooled take_pool_pages(char *start, UnitIndex whole, PageKind first = PageKind::kSuperpage);
  void give_pool_pages_back(char *start, const Pooled &pooled);

  /// Counts a request that ended on this step, and whether a directive has got what it asked for.
  void got(PageKind kind, PageKind first = PageKind::kSuperpage) {
    counters_->requests_on[static_cast<unsigned>(kind)].add();
    if (kind == first && kind == PageKind::kGigantic)
      counters_->directed_1g_got.add();
    else if (kind == first && kind == PageKind::kMedium)
      counters_->directed_mthp_got.add();
  }
  /// Counts a step that could not be had, and keeps the first for the warning. directed: a directive named it.
  void refused(PageKind kind, WhyNot why, bool directed = false);
  /// Is there a warning to write? Cheap. take_warning fills the line in once.
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
  bool wanted(PageKind kind) const; ///< at or below the step that the user named
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
  bool directed_gigantic_ = false; ///< pages of 1 GiB that only directives get
  WhyNot no_gigantic_ = WhyNot::kNoSuchSize;
  std::atomic<uint32_t> first_refusal_{0}; ///< kDirected | kind << 8 | why, + 1; kWritten: said
};

} // namespace smalloc
#endif
