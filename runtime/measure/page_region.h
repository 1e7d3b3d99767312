// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// page_region.h decides how the calibrator gets memory of a page size, and whether it really got
// it: memory that was asked to be on superpages and is not would make a wrong profile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace smalloc::calibrate {

// Anonymous private memory; nothing is touched yet. Empty when it is not to be had.
class PageRegion {
public:
  PageRegion() = default;
  // page_bytes: the base page (kept free of superpages), the size of a transparent superpage, one of
  // medium_page_bytes(), or 1 GiB (from the pool; `bytes` are reserved and none more).
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
  // Gives the pages back; the next touch faults again.
  void drop();
  // Pages of the region, and where the k-th begins. Pages of a medium size do not all lie side by
  // side: where a larger size would fit, the kernel gives the larger.
  uint64_t pages() const;
  char *page(uint64_t k) const;
  // Touches some pages and asks the kernel whether they are of that size. Touch nothing before.
  bool is_given();
  // Bytes of the region that lie on superpages now, as the kernel says (/proc/self/smaps).
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
  char *data_ = nullptr; // aligned to page_bytes_; of base pages, to more
  size_t size_ = 0;
  uint64_t page_bytes_ = 0;
  uint64_t unit_bytes_ = 0; // of a medium size: the larger size; its last page is left out
};

uint64_t base_page_bytes();
// The transparent superpage of this kernel (2 MiB on x86-64); 0: none, or switched off.
uint64_t transparent_superpage_bytes();
// Sizes of multi-size THP, 16 and 64 KiB, that this kernel gives when asked; ascending.
std::vector<uint64_t> medium_page_bytes();
// Free pages of 1 GiB in the pool.
uint64_t giant_pages();
constexpr uint64_t kGiantPage = uint64_t{1} << 30;

} // namespace smalloc::calibrate
