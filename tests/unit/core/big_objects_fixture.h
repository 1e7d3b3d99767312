// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// big_objects_fixture.h provides a region, a page fallback and big objects on the fake system, for
// tests of requests and of kept units.
#ifndef SMALLOC_TESTS_UNIT_CORE_BIG_OBJECTS_FIXTURE_H
#define SMALLOC_TESTS_UNIT_CORE_BIG_OBJECTS_FIXTURE_H

#include "smalloc/big/big_objects.h"
#include "tests/unit/core/fake_os.h"

#include <gtest/gtest.h>

namespace smalloc {
constexpr size_t kMiB = 1 << 20;

struct BigObjectsTest : testing::Test {
  void SetUp() override {
    FakeOs::reset();
    start(FakeOs::config(), {64 * kMiB});
  }
  void start(Region::Config config, BigObjects::Config big_config) {
    config.pending = &pending;
    ASSERT_TRUE(region.init(config, counters));
    FakeOs::make_page_fallback(page_fallback, counters);
    ASSERT_TRUE(big.init(region, page_fallback, big_config));
  }
  char *make(size_t bytes, bool at_first_touch, size_t alignment = 16, bool zero = false) {
    BigRequest r;
    r.bytes = bytes;
    r.superpages_at_first_touch = at_first_touch;
    r.alignment = alignment;
    r.zero = zero;
    return static_cast<char *>(big.allocate(r));
  }
  unsigned pending = 0;
  Counters counters;
  Region region;
  PageFallback page_fallback;
  BigObjects big;
};

} // namespace smalloc
#endif
