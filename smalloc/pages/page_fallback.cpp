// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// page_fallback.cpp maps errors of the system to reasons, and formats the one line about a
// fallback: what was requested, why it is not available, the cure, and what is used instead.
#include "smalloc/pages/page_fallback.h"
#include "smalloc/os/page_settings.h"

#include <initializer_list>

#include <errno.h>

namespace smalloc {
namespace {

const char *option_of(PageKind kind) {
  static const char *const kNames[] = {"1g", "hugetlb", "thp", "mthp", "base"};
  return kNames[static_cast<unsigned>(kind)];
}

PageKind first_step(PageBacking asked) {
  switch (asked) {
  case PageBacking::kGigantic:
    return PageKind::kGigantic;
  case PageBacking::kHugetlb:
    return PageKind::kHugetlb;
  case PageBacking::kThp:
    return PageKind::kSuperpage;
  case PageBacking::kMedium:
    return PageKind::kMedium;
  case PageBacking::kBase:
    break;
  }
  return PageKind::kBase;
}

WhyNot reason(int pool_error) {
  switch (pool_error) {
  case ENOMEM:
    return WhyNot::kPoolEmpty;
  case EFAULT:
    return WhyNot::kLimit;
  case ENOENT:
    return WhyNot::kNoLibrary;
  case EINVAL:
    return WhyNot::kNoSuchSize;
  default:
    return WhyNot::kRefused;
  }
}

/// Returns the reason with its cure. Returns nullptr for a reason that needs no line: the user's
/// choice (a budget), or a choice that is better for the program.
const char *explain(PageKind kind, WhyNot why) {
  bool gigantic = kind == PageKind::kGigantic;
  switch (why) {
  case WhyNot::kNoLibrary:
    return "libhugetlbfs is not installed (apt-get install libhugetlbfs0)";
  case WhyNot::kNoSuchSize:
    return gigantic ? "the kernel has no hugetlb pages of 1 GiB"
           : kind == PageKind::kHugetlb
               ? "the kernel has no hugetlb pages of 2 MiB"
               : "the kernel has no pages of this kind (or /sys cannot be read)";
  case WhyNot::kSwitchedOff:
    return kind == PageKind::kMedium ? "pages of 64 KiB are switched off (echo madvise > "
                                       "/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled)"
                                     : "transparent huge pages are switched off (echo madvise > "
                                       "/sys/kernel/mm/transparent_hugepage/enabled)";
  case WhyNot::kPoolEmpty:
    return gigantic ? "the pool has no free pages of 1 GiB (echo N > "
                      "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages)"
                    : "the pool has no free pages of 2 MiB (sysctl vm.nr_hugepages=N)";
  case WhyNot::kLimit:
    return "a limit of the cgroup is reached (hugetlb.*.max or memory.max)";
  case WhyNot::kRefused:
    return "the kernel refuses the call (a sandbox?)";
  case WhyNot::kNoMemory:
    return "the system commits no more memory (vm.overcommit_memory=2 or ulimit -d)";
  case WhyNot::kBudget:
  case WhyNot::kMappings:
  case WhyNot::kExpensive:
    break;
  }
  return nullptr;
}

} // namespace

const char PageFallback::kDisabled[] = "transparent huge pages are disabled for this process "
                                       "(PR_SET_THP_DISABLE, set by the process or an ancestor)";

bool PageFallback::wanted(PageKind kind) const { return kind >= first_step(config_.asked); }

void PageFallback::init(const OsHooks &os, const Config &config, Counters &counters) {
  os_ = &os;
  config_ = config;
  counters_ = &counters;
  steps_ = 0;
  directed_gigantic_ = false;
  settings_ = read_page_settings(os, config.sysfs);
  if (config.only_advised) // libsmalloc's advice still counts; unadvised memory gets none
    settings_.superpage.unadvised = settings_.medium.unadvised = false;

  for (PageKind kind : {PageKind::kGigantic, PageKind::kHugetlb}) {
    if (!wanted(kind))
      continue;
    int error = os.open_hugetlb(page_bytes(kind));
    step(kind, error == 0);
    if (error)
      refused(kind, reason(error));
    if (error && kind == PageKind::kGigantic)
      no_gigantic_ = reason(error);
  }
  if (config.most_pool_units == 0) // under a budget libsmalloc takes nothing from empty pools
    for (PageKind kind : {PageKind::kGigantic, PageKind::kHugetlb})
      if (has(kind))
        refused(kind, WhyNot::kPoolEmpty);
  if (config.directed_gigantic && !wanted(PageKind::kGigantic) && wanted(PageKind::kSuperpage)) {
    const int error = os.open_hugetlb(kGiganticBytes);
    directed_gigantic_ = error == 0;
    no_gigantic_ = reason(error); // counted with each object that requests it
  }
  if (wanted(PageKind::kSuperpage)) {
    bool there = settings_.gives_superpages(config.force);
    step(PageKind::kSuperpage, there);
    if (!there)
      refused(PageKind::kSuperpage,
              settings_.superpage.known ? WhyNot::kSwitchedOff : WhyNot::kNoSuchSize);
  }
  if (wanted(PageKind::kMedium)) {
    bool there = settings_.medium.advised;
    step(PageKind::kMedium, there);
    // As a fallback 64 KiB pages are optional, so their absence is not reported.
    if (!there && config.asked == PageBacking::kMedium)
      refused(PageKind::kMedium,
              settings_.medium.known ? WhyNot::kSwitchedOff : WhyNot::kNoSuchSize);
  }
}

/// Takes all, or half, or a quarter, and so on. If the pool has some pages, it thus gives at least
/// half of them in a few system calls.
UnitIndex PageFallback::take_from(PageKind kind, char *start, UnitIndex units, bool directed) {
  auto step = static_cast<UnitIndex>(page_bytes(kind) / kSuperpageBytes);
  const uint64_t taken = counters_->pool_units[static_cast<unsigned>(PageKind::kGigantic)].get() +
                         counters_->pool_units[static_cast<unsigned>(PageKind::kHugetlb)].get();
  const uint64_t left = config_.most_pool_units - min_of(taken, config_.most_pool_units);
  // Any share of an empty pool is nothing; that case is reported as an empty pool.
  if (config_.most_pool_units != 0 && left < units) {
    if (units / step != left / step)
      refused(kind, WhyNot::kBudget, directed);
    units = static_cast<UnitIndex>(left);
  }
  for (UnitIndex pages = units / step; pages != 0; pages /= 2) {
    int error = os_->map_hugetlb(start, size_t{pages} * page_bytes(kind), page_bytes(kind));
    if (error == 0) {
      counters_->pool_units[static_cast<unsigned>(kind)].add(uint64_t{pages} * step);
      return pages * step;
    }
    if (pages == units / step)
      refused(kind, reason(error), directed);
  }
  return 0;
}

PageFallback::Pooled PageFallback::take_pool_pages(char *start, UnitIndex whole, PageKind first) {
  Pooled pooled;
  if (gives_gigantic(first) && reinterpret_cast<uintptr_t>(start) % kGiganticBytes == 0)
    pooled.gigantic_units =
        take_from(PageKind::kGigantic, start, whole, first == PageKind::kGigantic);
  if (has(PageKind::kHugetlb) && whole > pooled.gigantic_units)
    pooled.hugetlb_units =
        take_from(PageKind::kHugetlb, start + size_t{pooled.gigantic_units} * kSuperpageBytes,
                  whole - pooled.gigantic_units, false);
  return pooled;
}

void PageFallback::give_pool_pages_back(char *start, const Pooled &pooled) {
  size_t gigantic = size_t{pooled.gigantic_units} * kSuperpageBytes;
  size_t hugetlb = size_t{pooled.hugetlb_units} * kSuperpageBytes;
  if (gigantic)
    os_->unmap_hugetlb(start, gigantic);
  if (hugetlb)
    os_->unmap_hugetlb(start + gigantic, hugetlb);
  counters_->pool_units[static_cast<unsigned>(PageKind::kGigantic)].sub(pooled.gigantic_units);
  counters_->pool_units[static_cast<unsigned>(PageKind::kHugetlb)].sub(pooled.hugetlb_units);
}

void PageFallback::note_directed_gigantic(size_t bytes) {
  if (bytes < kGiganticBytes)
    return; // the object gets 2 MiB pages
  counters_->directed_1g.add();
  if (!gives_gigantic(PageKind::kGigantic) && wanted(PageKind::kSuperpage))
    refused(PageKind::kGigantic, no_gigantic_, true);
}

bool PageFallback::note_directed_medium() {
  counters_->directed_mthp.add();
  if (!wanted(PageKind::kMedium))
    return false; // the user wants base pages
  if (!settings_.medium.advised)
    refused(PageKind::kMedium, settings_.medium.known ? WhyNot::kSwitchedOff : WhyNot::kNoSuchSize,
            true);
  return settings_.medium.advised;
}

void PageFallback::refused(PageKind kind, WhyNot why, bool directed) {
  counters_->not_on[static_cast<unsigned>(kind)][static_cast<unsigned>(why)].add();
  uint32_t nothing = 0;
  if (explain(kind, why))
    first_refusal_.compare_exchange_strong(nothing,
                                           ((directed ? kDirected : 0) |
                                            static_cast<uint32_t>(kind) << 8 |
                                            static_cast<uint32_t>(why)) +
                                               1,
                                           std::memory_order_relaxed);
}

bool PageFallback::take_warning(TextBuffer<512> &text) {
  uint32_t seen = first_refusal_.exchange(kWritten, std::memory_order_relaxed);
  if (seen == 0 || seen == kWritten)
    return false;
  const bool directed = (seen - 1) & kDirected;
  auto kind = static_cast<PageKind>((seen - 1) >> 8 & 255);
  auto why = static_cast<WhyNot>((seen - 1) & 255);
  if (directed)
    text.put("directives: page=").put(kind == PageKind::kGigantic ? "1g" : "64k");
  else
    text.put("pages:").put(option_of(first_step(config_.asked)));
  const bool disabled = why == WhyNot::kSwitchedOff && settings_.disabled;
  text.put(": ").put(disabled ? kDisabled : explain(kind, why));
  text.put("; ");
  if (why == WhyNot::kNoMemory)
    text.put("the program's malloc serves");
  else if (kind == PageKind::kGigantic && has(PageKind::kHugetlb))
    text.put("hugetlb pages of 2 MiB are used");
  else if (kind < PageKind::kSuperpage && superpages())
    text.put("transparent huge pages are used");
  else if (kind < PageKind::kMedium && has(PageKind::kMedium))
    text.put("pages of 64 KiB are used");
  else
    text.put("base pages are used");
  return true;
}

} // namespace smalloc
