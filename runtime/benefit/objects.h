// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// objects.h maps addresses to categories while a trace is followed. It also computes where an
// object would lie if its category had a heap of superpages of its own: packed, in the order of
// allocation, with freed room reused by size. The trace's addresses are those of base pages, where
// categories are mixed.
//
// O(log objects) an event; about 100 bytes for each live object.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace smalloc::benefit {

enum class CategoryKind { kSite, kStatic, kSizeClass, kSiteContext, kCluster, kObject };

/// Objects that are on the same page size.
struct Category {
  CategoryKind kind = CategoryKind::kSite;
  uint64_t id = 0; ///< of the site; else of the segment, size class or cluster
  uint64_t context =
      0; ///< kSiteContext: inlined copy of the site; kObject: number of the object, from 1
  uint64_t peak_bytes = 0; ///< most that were live at a time
  uint64_t heap_bytes = 0; ///< size of a heap of its own
  double accesses = 0;
  uint64_t gib_pages = 0; ///< whole GiB within one object of the heap, where 1 GiB pages can be
  uint64_t superpages() const { return (heap_bytes + (uint64_t{2} << 20) - 1) >> 21; }
};

/// How objects form categories.
/// kSite: by site.
/// kContext: by site and inlined copy of it.
/// kPaper: the paper's three: static, small dynamic (below 128 KiB), large dynamic.
/// kDynamic: by clusters of sites (clusters.h); a site that is in none is a category.
/// kObject: each object of kLeastObject or more, for the first kMostObjects of a recording; the
/// rest of each site is one category.
enum class Grouping { kSite, kContext, kPaper, kDynamic, kObject };

class Objects {
public:
  static constexpr uint32_t kNone = UINT32_MAX; ///< stack, or allocated before the recording

  static constexpr uint64_t kLeastObject = uint64_t{2} << 20, kMostObjects = 4096;

  using Clusters = std::unordered_map<uint64_t, uint64_t>; ///< by site
  /// Creates an empty map. gib_borders: objects of a GiB or more begin at a border of one, as in
  /// the allocator if 1 GiB pages are requested. clusters: for kDynamic; must outlive this object.
  explicit Objects(Grouping grouping, bool gib_borders = false, const Clusters *clusters = nullptr)
      : grouping_(grouping), gib_borders_(gib_borders), clusters_(clusters) {}

  void segment(uint64_t id, uint64_t start, uint64_t bytes);
  void allocate(uint64_t site, uint64_t address, uint64_t bytes, uint64_t context = 0);
  struct Freed {
    uint64_t bytes = 0; ///< 0: no known object began there
    uint32_t category = kNone;
  };
  Freed free(uint64_t address);
  /// Resizes an object. One that stays in place keeps its packed address. One that gives up a part
  /// before any access was never larger (a program that maps memory for an alignment trims it).
  void reallocate(uint64_t old, uint64_t site, uint64_t address, uint64_t bytes,
                  uint64_t context = 0);

  static constexpr uint64_t kSmall = UINT64_MAX;
  struct Place {
    uint32_t category;
    uint64_t packed;     ///< address in the category's own heap
    bool in_gib = false; ///< in a whole GiB of its object; never without gib_borders
    /// Number of the 2 MiB region of the recorded address, counted in the category's own heap.
    /// Objects of a superpage or more begin at a border there, and anywhere in the recorded
    /// addresses. kSmall: a smaller object.
    uint64_t region = kSmall;
  };
  /// Returns the place of an address. Remembers the last object, since accesses come in runs.
  Place find(uint64_t address);

  std::vector<Category> &categories() { return categories_; }
  const std::vector<Category> &categories() const { return categories_; }

private:
  struct Object {
    uint64_t end, packed, heap_bytes;
    uint32_t category;
    uint64_t front = 0; // start of its room that it gave up
    bool accessed = false;
  };
  struct Heap {
    uint64_t end = 0, live = 0, gaps = 0; // gaps: bytes before borders of a GiB, which are no
                                          // memory
    // The last object, and the heap's state before it.
    uint64_t last = kNowhere, end_before = 0, gaps_before = 0, peak_before = 0,
             gib_pages_before = 0;
    std::unordered_map<uint64_t, std::vector<uint64_t>> free; // by size
  };
  static constexpr uint64_t kNowhere = UINT64_MAX;
  uint32_t category_of(CategoryKind kind, uint64_t id, uint64_t context = 0);
  uint32_t category_of_allocation(uint64_t site, uint64_t bytes, uint64_t context);
  using Live = std::map<uint64_t, Object>::iterator; // by start
  bool was_never(Live at);
  bool shrinks(Live at, uint32_t category, uint64_t address, uint64_t bytes);
  void insert(uint32_t category, uint64_t address, uint64_t bytes);

  Grouping grouping_;
  bool gib_borders_;
  const Clusters *clusters_;
  std::unordered_map<uint64_t, uint64_t> objects_of_; // number so far, by site
  uint64_t all_objects_ = 0;
  std::vector<Category> categories_;
  std::vector<Heap> heaps_; // by category
  std::map<std::tuple<CategoryKind, uint64_t, uint64_t>, uint32_t> numbers_;
  std::map<uint64_t, Object> live_; // by start
  uint64_t last_start_ = 1, last_end_ = 0;
  Object last_{};
};

} // namespace smalloc::benefit
