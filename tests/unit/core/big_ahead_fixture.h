// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// big_ahead_fixture.h provides a scripted program that fills big objects. The fake system reports
// the pages that this program has written as resident.
#ifndef SMALLOC_TESTS_UNIT_CORE_BIG_AHEAD_FIXTURE_H
#define SMALLOC_TESTS_UNIT_CORE_BIG_AHEAD_FIXTURE_H

#include "smalloc/big/big_objects.h"
#include "tests/unit/core/fake_os.h"

#include <gtest/gtest.h>

#include <bitset>
#include <map>

namespace smalloc {
inline constexpr uint64_t kMiB = uint64_t{1} << 20;
inline constexpr unsigned kLeastWindow = 2; ///< in units

struct BigAheadTest : testing::Test {
  void SetUp() override {
    FakeOs::reset();
    FakeOs::resident_part = [this](const char *p, size_t bytes) {
      size_t count = 0;
      const auto it = pages.upper_bound(p);
      if (it == pages.begin())
        return count;
      const auto &[start, written] = *std::prev(it);
      const size_t from = static_cast<size_t>(p - start) / kBasePageBytes;
      for (size_t i = from; i < kPagesPerUnit && i < from + bytes / kBasePageBytes; i++)
        count += written[i];
      return count;
    };
    start(FakeOs::config());
  }
  void start(Region::Config config, PageBacking asked = PageBacking::kThp) {
    config.pending = &pending;
    ASSERT_TRUE(region.init(config, counters));
    FakeOs::make_page_fallback(page_fallback, counters, asked);
    price.init(FakeOs::hooks());
    BigObjects::Config big_config{64 << 20};
    big_config.first_touch = &price;
    ASSERT_TRUE(big.init(region, page_fallback, big_config));
  }
  char *make(size_t units, uint64_t history = FillHistory::key(&FakeOs::size, 200 * kMiB)) {
    BigRequest r;
    r.bytes = units * kSuperpageBytes - 65536; // room for the object's offset
    r.whole_superpages = r.superpages_at_first_touch = r.ahead = true;
    r.history = history;
    return static_cast<char *>(big.allocate(r));
  }
  char *unit(const char *p, size_t i) {
    return region.unit_address(Slice::kBigSuper, region.unit_of(Slice::kBigSuper, p)) +
           i * kSuperpageBytes;
  }
  /// Writes the first `count` pages of unit `i`, or every `step`th of them, as the program would.
  void fill(const char *p, size_t i, size_t count = kPagesPerUnit, size_t step = 1) {
    for (size_t page = 0; page < count; page += step)
      pages[unit(p, i)][page] = true;
  }
  bool is_advised_against(const char *p, size_t i) { return FakeOs::refused.count(unit(p, i)); }
  uint32_t superpages_of(const char *p) { return big.find(p).object->superpages; }
  static inline uint64_t resident_bytes = 0;
  bool look(uint64_t resident = 0) {
    resident_bytes = resident;
    const bool grows = big.look_ahead([] { return resident_bytes; }, true);
    given = big.units_ahead();
    return grows;
  }
  std::map<const char *, std::bitset<kPagesPerUnit>> pages; ///< written pages, by unit
  unsigned given = 0; ///< units in front of the fill, after the last look
  unsigned pending = 0;
  Counters counters;
  Region region;
  PageFallback page_fallback;
  FirstTouchCost price;
  BigObjects big;
};
} // namespace smalloc
#endif
