// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// page_region.h allocates memory on pages of a given size for the calibrator, and checks that the
// kernel gave that size. Otherwise memory on base pages could pass for superpages and make a wrong
// profile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace smalloc::calibrate {

// Anonymous private memory, not yet touched. Pages of 1 GiB are populated at once. Empty if the
// memory cannot be had.
class PageRegion {
public:
  PageRegion() = default;
  // page_bytes: the base page (kept free of superpages), the size of a transparent superpage, one
  // of medium_page_bytes(), or 1 GiB (from the pool). For 1 GiB, `bytes` is rounded down to whole
  // pages.
  PageRegion(size_t bytes, uint64_t page_bytes);
  ~PageRegion();
  PageRegion(PageRegion &&other) noexcept { swap(other); }
  PageRegion &operator=(PageRegion &&other) noexcept {
    swap(other);
    return *this;
  }
  PageRegion(const PageRegion &) = delete;
  PageRegion &operator=(const PageRegion &) = delete;

  char *data() const { return data_; }
  size_t size() const { return data_ ? size_ : 0; }
  uint64_t page_bytes() const { return page_bytes_; }
  // Releases the pages; the next touch faults again.
  void drop();
  // pages() returns the number of pages; page(k) returns the begin of the k-th. Pages of a medium
  // size do not all lie side by side: where a larger size would fit, the kernel gives the larger.
  uint64_t pages() const;
  char *page(uint64_t k) const;
  // Touches some pages and returns true if the kernel gave that size. Precondition: the region is
  // untouched.
  bool is_given();
  // Returns the bytes of the region that are on superpages now (/proc/self/smaps).
  uint64_t superpage_bytes() const;

private:
  void swap(PageRegion &other) noexcept {
    std::swap(mapping_, other.mapping_);
    std::swap(mapped_, other.mapped_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(page_bytes_, other.page_bytes_);
    std::swap(unit_bytes_, other.unit_bytes_);
  }
  void *mapping_ = nullptr;
  size_t mapped_ = 0;
  char *data_ = nullptr; // aligned to page_bytes_; a base-page region is aligned to more
  size_t size_ = 0;
  uint64_t page_bytes_ = 0;
  uint64_t unit_bytes_ = 0; // of a medium size: the next larger size; the last page of each such
                            // unit is not used
};

uint64_t base_page_bytes();
// Returns the size of this kernel's transparent superpage (2 MiB on x86-64); 0: none, or switched
// off.
uint64_t transparent_superpage_bytes();
// Returns the multi-size THP sizes among 16 and 64 KiB that this kernel gives when advised;
// ascending.
std::vector<uint64_t> medium_page_bytes();
// Returns the number of free 1 GiB pages in the pool.
uint64_t giant_pages();
constexpr uint64_t kGiantPage = uint64_t{1} << 30;

} // namespace smalloc::calibrate
