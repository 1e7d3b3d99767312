// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// page_region.cpp maps and advises regions, and reads from /proc and /sys what the kernel gave.
#include "runtime/measure/page_region.h"

#include "runtime/measure/memory_room.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <optional>

#include <sys/mman.h>
#include <unistd.h>

namespace smalloc::calibrate {
namespace {

// Alignment of base-page regions. Processors hash the address into the TLB's set and into the way
// of the first-level cache. So the result for a run of base pages must not depend on the kernel's
// placement. On a Zen 4 guest 1460 pages fit the second level from the begin of a superpage, 1730
// from its middle. Two packed pages of a run across a carry evict each other from the cache.
constexpr size_t kBaseAlignment = size_t{32} << 20;

constexpr int kPopulateWrite = 23, kHugeShift = 26; // MADV_POPULATE_WRITE, MAP_HUGE_SHIFT

const std::string kThp = "/sys/kernel/mm/transparent_hugepage/";

std::string mode_of(const std::string &path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  const size_t open = text.find('['), close = text.find(']');
  return open == std::string::npos || close < open ? "" : text.substr(open + 1, close - open - 1);
}

// True if the kernel gives pages of that size when advised, by the size's own setting or an
// inherited one.
bool is_enabled(uint64_t page_bytes) {
  std::string mode = mode_of(kThp + "hugepages-" + std::to_string(page_bytes >> 10) + "kB/enabled");
  if (mode == "inherit")
    mode = mode_of(kThp + "enabled");
  return mode == "always" || mode == "madvise";
}

// Returns the pages of that size that the kernel has given to all processes; nothing if it does not
// count them.
std::optional<uint64_t> pages_given(uint64_t page_bytes) {
  const uint64_t count = number_in(kThp + "hugepages-" + std::to_string(page_bytes >> 10) +
                                       "kB/stats/anon_fault_alloc",
                                   UINT64_MAX);
  return count == UINT64_MAX ? std::nullopt : std::optional(count);
}

// Returns the next larger size that the kernel would give instead if it fits.
uint64_t larger_size(uint64_t page_bytes) {
  const uint64_t superpage = transparent_superpage_bytes();
  for (uint64_t bytes = page_bytes * 2; bytes < superpage; bytes *= 2)
    if (is_enabled(bytes))
      return bytes;
  return superpage ? superpage : 32 * page_bytes;
}

} // namespace

PageRegion::PageRegion(size_t bytes, uint64_t page_bytes) : page_bytes_(page_bytes) {
  const bool medium =
      page_bytes > base_page_bytes() && page_bytes < (1u << 20); // no superpage is smaller than 1
                                                                 // MiB
  if (medium)
    unit_bytes_ = larger_size(page_bytes);
  const size_t unit = std::max<size_t>(medium ? unit_bytes_ : page_bytes, base_page_bytes());
  const size_t align = page_bytes <= base_page_bytes() ? kBaseAlignment : unit;
  size_ = (bytes + unit - 1) / unit * unit;
  if (page_bytes >= kGiantPage) {
    size_ = bytes / page_bytes * page_bytes;
    mapped_ = size_;
    mapping_ = size_ ? mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | 30 << kHugeShift, -1, 0)
                     : MAP_FAILED;
    // A reservation is no permission: a cgroup's limit then kills with a signal at first touch.
    // MADV_POPULATE_WRITE returns an error instead, so a kernel without it is not trusted.
    if (mapping_ != MAP_FAILED && madvise(mapping_, size_, kPopulateWrite) == 0)
      data_ = static_cast<char *>(mapping_);
    else if (mapping_ != MAP_FAILED)
      munmap(mapping_, size_);
    if (!data_)
      mapping_ = nullptr;
    return;
  }
  mapped_ = size_ + align;
  mapping_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping_ == MAP_FAILED) {
    mapping_ = nullptr;
    return;
  }
  const auto start = (reinterpret_cast<uintptr_t>(mapping_) + align - 1) / align * align;
  data_ = reinterpret_cast<char *>(start);
  // A kernel without superpages refuses the advice; its pages are base pages in any case.
  madvise(data_, size_, page_bytes > base_page_bytes() ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  // Exclude one page of each unit of the larger size, so that the larger size does not fit.
  for (size_t at = 0; unit_bytes_ && at < size_; at += unit_bytes_)
    madvise(data_ + at + unit_bytes_ - page_bytes, page_bytes, MADV_NOHUGEPAGE);
}

uint64_t PageRegion::pages() const {
  return unit_bytes_ ? size() / unit_bytes_ * (unit_bytes_ / page_bytes_ - 1)
                     : size() / page_bytes_;
}

char *PageRegion::page(uint64_t k) const {
  if (!unit_bytes_)
    return data_ + k * page_bytes_;
  const uint64_t of_unit = unit_bytes_ / page_bytes_ - 1;
  return data_ + k / of_unit * unit_bytes_ + k % of_unit * page_bytes_;
}

bool PageRegion::is_given() {
  if (!size())
    return false;
  if (page_bytes_ <= base_page_bytes() || page_bytes_ >= kGiantPage)
    return true;
  constexpr uint64_t kTried = 64;
  const uint64_t tried = std::min(pages(), kTried);
  const auto before = unit_bytes_ ? pages_given(page_bytes_) : std::nullopt;
  for (uint64_t k = 0; k < (unit_bytes_ ? tried : 1); k++)
    *page(k) = 1;
  if (!unit_bytes_)
    return superpage_bytes() >= page_bytes_;
  const auto after = pages_given(page_bytes_);
  return before && after && *after - *before >= tried / 2;
}

PageRegion::~PageRegion() {
  if (mapping_)
    munmap(mapping_, mapped_);
}

void PageRegion::drop() {
  if (data_)
    madvise(data_, size_, MADV_DONTNEED);
}

uint64_t PageRegion::superpage_bytes() const {
  std::ifstream maps("/proc/self/smaps");
  const auto from = reinterpret_cast<uintptr_t>(data_), to = from + size_;
  uint64_t total = 0;
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    uint64_t low = 0, high = 0, kib = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " ", &low, &high) == 2)
      inside = low < to && high > from;
    else if (inside && std::sscanf(line.c_str(), "AnonHugePages: %" SCNu64 " kB", &kib) == 1)
      total += kib << 10;
  }
  return total;
}

uint64_t base_page_bytes() { return static_cast<uint64_t>(sysconf(_SC_PAGESIZE)); }

uint64_t transparent_superpage_bytes() {
  const std::string mode = mode_of(kThp + "enabled");
  return mode.empty() || mode == "never" ? 0 : number_in(kThp + "hpage_pmd_size", 0);
}

std::vector<uint64_t> medium_page_bytes() {
  std::vector<uint64_t> sizes;
  for (uint64_t bytes : {uint64_t{16} << 10, uint64_t{64} << 10})
    if (bytes > base_page_bytes() && is_enabled(bytes))
      sizes.push_back(bytes);
  return sizes;
}

uint64_t giant_pages() {
  return number_in("/sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages", 0);
}

} // namespace smalloc::calibrate
