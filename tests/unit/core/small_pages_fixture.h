// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// small_pages_fixture.h gives tests a region on the scripted system, for the pages of small heaps.
#ifndef TESTS_UNIT_CORE_SMALL_PAGES_FIXTURE_H
#define TESTS_UNIT_CORE_SMALL_PAGES_FIXTURE_H

#include "smalloc/small/small_pages.h"
#include "tests/unit/core/fake_os.h"

#include <gtest/gtest.h>

namespace smalloc {

struct SmallPagesFixture : testing::Test {
  void SetUp() override { start_region(FakeOs::config); }
  /// Starts the region. `config`: called on the scripted system's initial state.
  template <class F> void start_region(F config) {
    FakeOs::reset();
    Region::Config c = config();
    c.pending = &pending;
    ASSERT_TRUE(region.init(c, counters));
  }
  /// Configures the pages like Runtime for the small heap that serves malloc of the whole process.
  void start_as_process_malloc(SmallPages &process) {
    SmallPages::Config c;
    c.has_super = true;
    c.at_first_touch_bytes = SmallPages::kAtFirstTouchBytesOfProcess;
    c.probes_double = true;
    ASSERT_TRUE(process.init(region, c));
    process.lower_reach(0);
  }
  unsigned pending = 0;
  Counters counters;
  Region region;
  SmallPages pages;
  Price price;
};

} // namespace smalloc
#endif
