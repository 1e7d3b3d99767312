// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// objects.h decides which category an address belongs to while a trace is followed, and where its object would
// lie if the category had a heap of superpages of its own: packed, in the order of allocation, freed room
// used again by size. The trace's addresses are those of base pages, where categories are mixed.
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

/// What is on one page size or another together.
struct Category {
  CategoryKind kind = CategoryKind::kSite;
  uint64_t id = 0; ///< site's id; of the segment, size class or cluster otherwise
  uint64_t context =
      0; ///< kSiteContext: which inlined copy of the site; kObject: which of its objects, from 1
  uint64_t peak_bytes = 0; ///< live at a time
  uint64_t heap_bytes = 0; ///< what a heap of its own would take
  double accesses = 0;
  uint64_t gib_pages = 0; ///< of the heap: whole GiB within one object, where 1 GiB pages can be
  uint64_t superpages() const { return (heap_bytes + (uint64_t{2} << 20) - 1) >> 21; }
};

/// by site; by site and inlined copy of it; the paper's three: static, small dynamic (below 128 KiB), large dynamic; by clusters of
/// sites (clusters.h), where each site that is in none stands for itself; or by object of kLeastObject or more, the first kMostObjects of a
/// recording, where the rest of each site stands together.
enum class Grouping { kSite, kContext, kPaper, kDynamic, kObject };

class Objects {
public:
  static constexpr uint32_t kNone = UINT32_MAX; ///< stack, or allocated before the recording

  static constexpr uint64_t kLeastObject = uint64_t{2} << 20, kMostObjects = 4096;

  using Clusters = std::unordered_map<uint64_t, uint64_t>; ///< by site
  /// gib_borders: objects of a GiB and more begin at a border of one, as they do in the allocator where 1 GiB pages are asked for.
  /// clusters: for kDynamic; outlives this.
  explicit Objects(Grouping grouping, bool gib_borders = false, const Clusters *clusters = nullptr)
      : grouping_(grouping), gib_borders_(gib_borders), clusters_(clusters) {}

  void segment(uint64_t id, uint64_t start, uint64_t bytes);
  void allocate(uint64_t site, uint64_t address, uint64_t bytes, uint64_t context = 0);
  struct Freed {
    uint64_t bytes = 0; ///< 0: nothing that we know began there
    uint32_t category = kNone;
  };
  Freed free(uint64_t address);
  /// What is resized where it lies stays where it was packed. What gives up a part before anything of it was accessed (who maps
  /// memory for an alignment trims it) was never larger.
  void reallocate(uint64_t old, uint64_t site, uint64_t address, uint64_t bytes,
                  uint64_t context = 0);

  static constexpr uint64_t kSmall = UINT64_MAX;
  struct Place {
    uint32_t category;
    uint64_t packed;     ///< address in the category's own heap
    bool in_gib = false; ///< in a whole GiB of its object; never without gib_borders
    /// Which 2 MiB of the addresses, counted in the category's own heap: of objects of a superpage and more, which begin at a border
    /// of one there and anywhere in the addresses. kSmall: of a smaller one.
    uint64_t region = kSmall;
  };
  /// Remembers the last object, since accesses come in runs.
  Place find(uint64_t address);

  std::vector<Category> &categories() { return categories_; }
  const std::vector<Category> &categories() const { return categories_; }

private:
  struct Object {
    uint64_t end, packed, heap_bytes;
    uint32_t category;
    uint64_t front = 0; // of its room, that it gave up
    bool accessed = false;
  };
  struct Heap {
    uint64_t end = 0, live = 0, gaps = 0; // gaps: before borders of a GiB, nobody's memory
    // The last object, and what it found.
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
  std::unordered_map<uint64_t, uint64_t> objects_of_; // by site, so far
  uint64_t all_objects_ = 0;
  std::vector<Category> categories_;
  std::vector<Heap> heaps_; // by category
  std::map<std::tuple<CategoryKind, uint64_t, uint64_t>, uint32_t> numbers_;
  std::map<uint64_t, Object> live_; // by start
  uint64_t last_start_ = 1, last_end_ = 0;
  Object last_{};
};

} // namespace smalloc::benefit
